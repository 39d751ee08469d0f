const hourMs = 3_600_000
const dayMs = 24 * hourMs

const ceilTo = (at: Date, unitMs: number): Date => new Date(Math.ceil(at.getTime() / unitMs) * unitMs)
const floorTo = (at: Date, unitMs: number): Date => new Date(Math.floor(at.getTime() / unitMs) * unitMs)

/** From a time on and before another; null is no end. */
export type Span = { readonly from: Date; readonly to: Date | null }
export type BoundedSpan = { readonly from: Date; readonly to: Date }

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

/** The same with whole days, and whole hours beside them. */
export const splitByDays = (span: Span) => {
  const { whole: days, parts: restOfDays } = split(span, dayMs)
  const rests = restOfDays.map(splitByHours)
  return {
    days,
    hours: rests.flatMap(({ whole }) => (whole ? [whole] : [])),
    parts: rests.flatMap(({ parts }) => parts),
  }
}
