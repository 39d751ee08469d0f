import { formatDay } from '../../shared/plots/scale.ts'
import { pluralize } from '../../shared/design/time.ts'
import type { Usage } from '../wire.ts'

const dayMs = 86_400_000

/** How long the credits last, in a line for a tile. */
export const runwayText = (runway: Usage['runway'], now: number): string => {
  if (runway.spentPerDay === 0) return 'Nothing was spent in the last 7 days'
  if (runway.daysLeft === null) return 'Test mode: nothing is charged'
  if (runway.daysLeft > 365) return 'More than a year at this pace'
  const until = formatDay(new Date(now + runway.daysLeft * dayMs).toISOString())
  return `${pluralize(runway.daysLeft, 'day')} at this pace, until ${until}`
}

/** Few days are left: the tile is marked. */
export const isRunwayShort = ({ daysLeft }: Usage['runway']): boolean => daysLeft !== null && daysLeft < 7

/** Refused sessions by reason, the most frequent first. */
export const refusalsByReason = (usage: Usage): readonly (readonly [reason: string, count: number])[] => {
  const counts = new Map<string, number>()
  for (const { refusedBy } of usage.series)
    for (const [reason, count] of Object.entries(refusedBy))
      counts.set(reason, (counts.get(reason) ?? 0) + count)
  return [...counts].toSorted(([, a], [, b]) => b - a)
}
