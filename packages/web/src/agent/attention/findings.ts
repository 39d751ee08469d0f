import { pluralize } from '../../shared/design/time.ts'
import { formatShare, formatUnit } from '../../shared/plots/scale.ts'
import type { Attention } from '../wire.ts'

const shareOf = (part: number, whole: number): number => (whole === 0 ? 0 : part / whole)

/** The lower end of the bucket in which the middle view lies. */
export const medianFrom = (quality: Attention['quality']): number | undefined => {
  const total = quality.reduce((sum, { views }) => sum + views, 0)
  if (total === 0) return undefined
  let above = 0
  for (const { from, views } of quality.toReversed()) {
    above += views
    if (above * 2 >= total) return from
  }
  return undefined
}

/** The finding of the page in one line. */
export const attentionFinding = ({ summary }: Attention): string => {
  if (summary.views === 0) return 'No view in this period'
  const scored = summary.verified + summary.rejected
  if (scored === 0) return `${pluralize(summary.views, 'view')}, none scored yet`
  return `${formatShare(shareOf(summary.verified, scored))} of the scored views were verified`
}

/** What follows from it. */
export const attentionText = ({ summary, quality }: Attention): string => {
  const median = medianFrom(quality)
  const parts = [
    ...(median === undefined
      ? []
      : [`Half of the scored views have a quality of ${formatUnit(median)} or better.`]),
    ...(summary.avgQuality === null ? [] : [`The average is ${formatUnit(summary.avgQuality)}.`]),
  ]
  return parts.join(' ')
}

export const passRate = (probes: { readonly shown: number; readonly passed: number }): string =>
  probes.shown === 0 ? '–' : formatShare(shareOf(probes.passed, probes.shown))

export const abandonedShare = (checks: { readonly started: number; readonly abandoned: number }): string =>
  checks.started === 0 ? '–' : formatShare(shareOf(checks.abandoned, checks.started))

/** The class of a cell: 0 where less than half of the views were verified, otherwise 1 to 4 by their number. */
export const levelOf = (
  { views, verified }: { readonly views: number; readonly verified: number },
  most: number,
): number | undefined => {
  if (views === 0) return undefined
  if (verified * 2 < views) return 0
  return Math.max(1, Math.ceil((4 * verified) / Math.max(1, most)))
}
