import { reasonText } from '@pohf/protocol/reasons'
import { flagCaps } from '@pohf/scorer'
import { formatMilliseconds } from '../../shared/design/duration.ts'
import { AsTable } from '../../shared/plots/as-table.tsx'
import { formatCount, formatShare } from '../../shared/plots/scale.ts'
import type { Attention } from '../wire.ts'
import { abandonedShare, passRate } from './findings.ts'

const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
const durationOf = (ms: number | null): string => (ms === null ? '–' : formatMilliseconds(ms))

const partOf = (part: number, whole: number): string => `${formatCount(part)} of ${formatCount(whole)}`

/** The figures above the plots. */
export const Stats = ({ attention }: { attention: Attention }) => {
  const { summary, probes, checks } = attention
  const scored = summary.verified + summary.rejected
  const stats: readonly (readonly [name: string, value: string, note: string])[] = [
    ['Views', formatCount(summary.views), `${formatCount(scored)} scored`],
    [
      'Verified, of the scored',
      scored === 0 ? '–' : formatShare(summary.verified / scored),
      partOf(summary.verified, scored),
    ],
    ['Questions answered correctly', passRate(probes), partOf(probes.passed, probes.shown)],
    [
      'Check took, median',
      durationOf(checks.medianMs),
      checks.p90Ms === null ? 'no finished check' : `nine of ten within ${durationOf(checks.p90Ms)}`,
    ],
  ]
  return (
    <dl class="card stats" aria-label="Figures of the period">
      {stats.map(([name, value, note]) => (
        <div key={name}>
          <dt class="muted">{name}</dt>
          <dd class="num">{value}</dd>
          <dd class="small faint num">{note}</dd>
        </div>
      ))}
    </dl>
  )
}

/** Whether this flag refuses a view by itself; the others lower its quality. */
const isRefusing = (flag: string): boolean =>
  Object.entries(flagCaps).some(([name, { blocking }]) => name === flag && blocking)

/** Flags of views, the most frequent first. */
export const FlagBars = ({ attention }: { attention: Attention }) => {
  const { flags, summary } = attention
  const shown = flags.slice(0, 8)
  const most = shown[0]?.views ?? 1
  if (shown.length === 0) return <p class="muted gap">No view had a flag in this period.</p>
  return (
    <>
      <dl class="bars flags">
        {shown.map(({ flag, views }) => (
          <div key={flag} class={`bar ${isRefusing(flag) ? 'refuses' : ''}`}>
            <dt>{sentence(reasonText(flag))}</dt>
            <dd class="track" style={{ '--v': `${(100 * views) / most}%` }} aria-hidden="true" />
            <dd class="num">
              {formatShare(views / Math.max(1, summary.views))}
              {isRefusing(flag) ? ' refused' : ''}
            </dd>
          </div>
        ))}
      </dl>
      <AsTable
        label="Flags of views"
        head={['Flag', 'Views', 'Share', 'Effect']}
        rows={flags.map(({ flag, views }) => [
          flag,
          formatCount(views),
          formatShare(views / Math.max(1, summary.views)),
          isRefusing(flag) ? 'refuses' : 'lowers the quality',
        ])}
      />
    </>
  )
}

/** How the check went for visitors. */
export const CheckFigures = ({ attention }: { attention: Attention }) => {
  const { probes, checks } = attention
  const rows: readonly (readonly [name: string, value: string, note: string])[] = [
    ['Questions answered correctly', passRate(probes), partOf(probes.passed, probes.shown)],
    ['Checks left before their end', abandonedShare(checks), partOf(checks.abandoned, checks.started)],
    ['Duration, median', durationOf(checks.medianMs), 'half of the finished checks took no longer'],
    ['Duration, 90th percentile', durationOf(checks.p90Ms), 'nine of ten took no longer'],
  ]
  return (
    <dl class="figures">
      {rows.map(([name, value, note]) => (
        <div key={name}>
          <dt>
            {name}
            <span class="small faint">{note}</span>
          </dt>
          <dd class="num">{value}</dd>
        </div>
      ))}
    </dl>
  )
}

/** Names that are no paths: what is counted together. */
const groupNames: ReadonlyMap<string, string> = new Map([
  ['(other)', 'other paths'],
  ['(none)', 'no path named'],
])

/** Landing pages by their path. */
export const PagesTable = ({ attention }: { attention: Attention }) => (
  <table class="pages-table">
    <thead>
      <tr>
        <th scope="col">Path</th>
        <th scope="col" class="num">
          Landed
        </th>
        <th scope="col" class="num">
          Engaged
        </th>
        <th scope="col" class="num wide-only">
          Share
        </th>
      </tr>
    </thead>
    <tbody>
      {attention.pages.map(({ path, landed, engaged }) => (
        <tr key={path}>
          <th scope="row">
            {groupNames.has(path) ? (
              <span class="muted">{groupNames.get(path)}</span>
            ) : (
              <code title={path}>{path}</code>
            )}
          </th>
          <td class="num">{formatCount(landed)}</td>
          <td class="num">{formatCount(engaged)}</td>
          <td class="num wide-only">{formatShare(landed === 0 ? 0 : engaged / landed)}</td>
        </tr>
      ))}
    </tbody>
  </table>
)
