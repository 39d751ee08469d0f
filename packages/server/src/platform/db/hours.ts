const hourMs = 3_600_000
const dayMs = 24 * hourMs

const ceilTo = (at: Date, unitMs: number): Date => new Date(Math.ceil(at.getTime() / unitMs) * unitMs)
const floorTo = (at: Date, unitMs: number): Date => new Date(Math.floor(at.getTime() / unitMs) * unitMs)

/** A span of time: `from` is included and `to` is not; null means that it has no end. */
export type Span = { readonly from: Date; readonly to: Date | null }
type BoundedSpan = { readonly from: Date; readonly to: Date }
/** Rows of a part of an hour: added to the figures of whole hours (1), or taken off them (-1). */
export type Part = BoundedSpan & { readonly sign: 1 | -1 }

/** A span as whole units in UTC and what is left at both ends: `whole` is undefined where there is none. */
const split = (
  { from, to }: Span,
  unitMs: number,
): { readonly whole: Span | undefined; readonly parts: readonly BoundedSpan[] } => {
  const wholeFrom = ceilTo(from, unitMs)
  const wholeTo = to && floorTo(to, unitMs)
  if (to && wholeTo && wholeTo <= wholeFrom)
    return { whole: undefined, parts: from < to ? [{ from, to }] : [] }
  const parts = [
    ...(from < wholeFrom ? [{ from, to: wholeFrom }] : []),
    ...(to && wholeTo && wholeTo < to ? [{ from: wholeTo, to }] : []),
  ]
  return { whole: { from: wholeFrom, to: wholeTo }, parts }
}

/** Whole hours, which the hourly figures count, and the parts of an hour at both ends. */
export const splitByHours = (span: Span) => split(span, hourMs)

const nearestHour = (at: Date): Date => new Date(Math.round(at.getTime() / hourMs) * hourMs)

/**
 * The rows between an end of a span and the nearest whole hour: added where they are outside the whole hours, subtracted
 * where they are inside.
 */
const partBetween = (end: Date, hour: Date, isStart: boolean): Part[] => {
  if (end.getTime() === hour.getTime()) return []
  const [from, to] = end < hour ? [end, hour] : [hour, end]
  return [{ from, to, sign: isStart === end < hour ? 1 : -1 }]
}

/**
 * Rounds both ends of a span to the nearest whole hour, so that rows of at most half an hour are read at each end. Rows
 * between a rounded end and the end itself are added, or subtracted where the rounded span contains them.
 */
export const splitAtNearestHours = ({
  from,
  to,
}: Span): { readonly whole: Span | undefined; readonly parts: readonly Part[] } => {
  const whole = { from: nearestHour(from), to: to && nearestHour(to) }
  if (to && whole.to && whole.to <= whole.from)
    return { whole: undefined, parts: from < to ? [{ from, to, sign: 1 }] : [] }
  return {
    whole,
    parts: [
      ...partBetween(from, whole.from, true),
      ...(to && whole.to ? partBetween(to, whole.to, false) : []),
    ],
  }
}

/** Whole days, whole hours beside them, and parts of an hour. */
export const splitByDays = (span: Span) => {
  const { whole: days, parts: restOfDays } = split(span, dayMs)
  const rests = restOfDays.map(splitAtNearestHours)
  return {
    days,
    hours: rests.flatMap(({ whole }) => (whole ? [whole] : [])),
    parts: rests.flatMap(({ parts }) => parts),
  }
}
