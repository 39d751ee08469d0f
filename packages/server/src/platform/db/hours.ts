const hourMs = 3_600_000

/** The first full hour in UTC that begins at or after a time: hourly figures count whole hours. */
export const firstWholeHour = (at: Date): Date => new Date(Math.ceil(at.getTime() / hourMs) * hourMs)
