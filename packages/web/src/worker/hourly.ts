/** What somebody earns in an hour at this pace; undefined where no time is known. */
export const starsPerHour = (stars: number, seconds: number): number | undefined =>
  seconds > 0 ? (stars * 3_600) / seconds : undefined

/** How long a task takes: as measured, else as stated. */
export const taskSeconds = (task: {
  readonly medianSeconds: number | null
  readonly estMinutes: number
}): number => task.medianSeconds ?? task.estMinutes * 60
