import { attentionFlagsMax, qualityBuckets, type AttentionReport } from '@pohf/protocol'
import { checkDurationBounds, type HourFigures } from './engines/port.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
/** The longest period that is shown by hours. */
const hoursSpanMs = 3 * dayMs

type Point = { views: number; verified: number; rejected: number; scored: number; quality: number }
const noViews = (): Point => ({ views: 0, verified: 0, rejected: 0, scored: 0, quality: 0 })

/** Hours of a short period or days of a longer one, in UTC, also those without a view. */
export const seriesOf = (
  hours: readonly HourFigures[],
  since: Date,
  until: Date,
): AttentionReport['series'] => {
  const stepMs = until.getTime() - since.getTime() <= hoursSpanMs ? hourMs : dayMs
  const stepOf = (at: Date) => Math.floor(at.getTime() / stepMs)
  const points = new Map<number, Point>()
  // The end is exclusive, and a period of no length still has a point.
  const last = Math.max(stepOf(since), stepOf(new Date(until.getTime() - 1)))
  for (let place = stepOf(since); place <= last; place++) points.set(place, noViews())
  for (const figures of hours) {
    const point = points.get(stepOf(figures.hour))
    if (!point) continue
    for (const name of ['views', 'verified', 'rejected', 'scored', 'quality'] as const)
      point[name] += figures[name]
  }
  return [...points].map(([place, { views, verified, rejected, scored, quality }]) => ({
    at: new Date(place * stepMs).toISOString(),
    views,
    verified,
    rejected,
    quality: scored === 0 ? null : Math.min(1, quality / scored),
  }))
}

/** The buckets with their bounds. */
export const qualityList = (counts: readonly number[]): AttentionReport['quality'] =>
  Array.from({ length: qualityBuckets }, (_, n) => ({
    from: n / qualityBuckets,
    to: (n + 1) / qualityBuckets,
    views: counts[n] ?? 0,
  }))

/** Flags with the most views first. */
export const flagList = (flags: Readonly<Record<string, number>>): AttentionReport['flags'] =>
  Object.entries(flags)
    .map(([flag, views]) => ({ flag, views }))
    .toSorted((a, b) => b.views - a.views || (a.flag < b.flag ? -1 : 1))
    .slice(0, attentionFlagsMax)

/** How far the clocks of a time zone are ahead of UTC at a time, in milliseconds. */
const makeOffsetOf = (timezone: string): ((at: number) => number) => {
  const format = new Intl.DateTimeFormat('en', { timeZone: timezone, timeZoneName: 'longOffset' })
  const known = new Map<number, number>()
  const measure = (at: number): number => {
    const name = format.formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value ?? ''
    const [, sign, hours = '0', minutes = '0'] = /GMT([+-])(\d{1,2}):?(\d{2})?/.exec(name) ?? []
    const size = Number(hours) * hourMs + Number(minutes) * 60_000
    return sign === '-' ? -size : size
  }
  const at = (ms: number): number => {
    const found = known.get(ms) ?? measure(ms)
    known.set(ms, found)
    return found
  }
  // Formatting is slow: where both ends of a day have the same offset, its hours share that offset.
  return (ms) => {
    const day = Math.floor(ms / dayMs) * dayMs
    return at(day) === at(day + dayMs) ? at(day) : at(ms)
  }
}

/** Views by weekday and hour in a time zone, by the start of the hour in UTC. */
export const heatOf = (hours: readonly HourFigures[], timezone: string): AttentionReport['heat'] => {
  const offsetOf = makeOffsetOf(timezone)
  const cells = new Map<number, { views: number; verified: number }>()
  for (const { hour, views, verified } of hours) {
    const local = new Date(hour.getTime() + offsetOf(hour.getTime()))
    const place = ((local.getUTCDay() + 6) % 7) * 24 + local.getUTCHours()
    const cell = cells.get(place) ?? { views: 0, verified: 0 }
    cells.set(place, { views: cell.views + views, verified: cell.verified + verified })
  }
  return [...cells]
    .toSorted(([a], [b]) => a - b)
    .map(([place, cell]) => ({ weekday: Math.floor(place / 24) + 1, hour: place % 24, ...cell }))
}

/** The duration that this share of the checks did not exceed, interpolated within its bin; null without checks. */
export const percentileMs = (counts: readonly number[], share: number): number | null => {
  const total = counts.reduce((sum, count) => sum + count, 0)
  if (total === 0) return null
  let left = share * total
  for (const [bin, count] of counts.entries()) {
    if (count > 0 && left <= count) {
      const from = checkDurationBounds[bin - 1] ?? 0
      // Nothing lasts longer than the last bound: a check expires after 15 minutes.
      const to = checkDurationBounds[bin] ?? from
      return Math.round(1_000 * (from + (to - from) * (left / count)))
    }
    left -= count
  }
  return null
}
