import { reasonText } from '@pohf/protocol/reasons'
import { TwoSidedBars } from '../../shared/plots/two-sided-bars.tsx'
import { formatCount, formatDay, formatShare } from '../../shared/plots/scale.ts'
import { Histogram } from '../../shared/plots/histogram.tsx'
import type { Usage } from '../wire.ts'
import { refusalsByReason } from './messages.ts'

/** What the quality of a session must reach, as the rules have it. */
const qualityMinimum = 0.6

const bucketLabel = (at: string, bucket: Usage['bucket']): string =>
  bucket === 'day' ? formatDay(at) : `${formatDay(at)} ${at.slice(11, 16)}`

/** Sessions verified and refused, by day or hour. */
export const SessionsPlot = ({ usage }: { usage: Usage }) => {
  const { totals, series, bucket } = usage
  const bars = series.map(({ at, verified, refused }) => ({
    label: bucketLabel(at, bucket),
    above: verified,
    below: refused,
  }))
  return (
    <TwoSidedBars
      bars={bars}
      names={[bucket === 'day' ? 'Day' : 'Hour', 'Verified', 'Refused']}
      last={bucket === 'day' ? 'Today so far' : 'This hour so far'}
      label={`Sessions verified and refused by ${bucket}: ${formatCount(totals.verified)} verified, ${formatCount(totals.refused)} refused.`}
    />
  )
}

/** Quality of the scored sessions. */
export const QualityPlot = ({ usage }: { usage: Usage }) => {
  const total = usage.quality.reduce((sum, count) => sum + count, 0)
  const reached = usage.quality.slice(6).reduce((sum, count) => sum + count, 0)
  return (
    <Histogram
      bins={usage.quality}
      minimum={qualityMinimum}
      counted="Sessions"
      label={`Histogram of quality: ${formatShare(total === 0 ? 0 : reached / total)} of ${formatCount(total)} sessions reach the minimum of .60.`}
    />
  )
}

/** Why sessions were refused, the most frequent reason first. */
export const ReasonBars = ({ usage }: { usage: Usage }) => {
  const reasons = refusalsByReason(usage).slice(0, 8)
  const most = reasons[0]?.[1] ?? 1
  if (reasons.length === 0) return <p class="muted gap">No session was refused in this period.</p>
  return (
    <dl class="bars reasons">
      {reasons.map(([reason, count]) => (
        <div key={reason} class="bar">
          <dt>
            {reasonText(reason)} <code class="small faint">{reason}</code>
          </dt>
          <dd class="track" style={{ '--v': `${(100 * count) / most}%` }} aria-hidden="true" />
          <dd class="num">{formatCount(count)}</dd>
        </div>
      ))}
    </dl>
  )
}
