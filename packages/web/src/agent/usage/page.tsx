import { useQuery } from '../../shared/api/use-query.ts'
import { ErrorNote, Skeleton } from '../../shared/design/components.tsx'
import { PageHead } from '../../shared/design/page-head.tsx'
import { AsTable } from '../../shared/plots/as-table.tsx'
import { formatCount, formatDay } from '../../shared/plots/scale.ts'
import type { PageProps } from '../../shared/shell/frame.tsx'
import { Filters } from '../../shared/lists/filters.tsx'
import type { Balance, Usage } from '../wire.ts'
import { BillingCards } from './billing.tsx'
import { runwayText } from './messages.ts'
import { QualityPlot, ReasonBars, SessionsPlot } from './plots.tsx'
import { usagePeriodOf, usagePeriods, useUsage } from './use-usage.ts'

const periodChoice = {
  name: 'period',
  label: 'Time',
  options: [
    ['', 'Last 30 days'],
    ...usagePeriods.filter(({ value }) => value !== '30d').map(({ value, label }) => [value, label] as const),
  ],
} as const

const SpentTable = ({ usage }: { usage: Usage }) => (
  <AsTable
    label="Usage"
    head={[usage.bucket === 'day' ? 'Day' : 'Hour', 'Started', 'Ended', 'Verified', 'Refused', 'Credits']}
    rows={usage.series.map((row) => [
      usage.bucket === 'day' ? formatDay(row.at) : `${formatDay(row.at)} ${row.at.slice(11, 16)}`,
      ...[row.started, row.ended, row.verified, row.refused, row.spent].map(formatCount),
    ])}
  />
)

const Totals = ({ usage }: { usage: Usage }) => {
  const { totals } = usage
  const tiles: readonly (readonly [name: string, value: number, note: string])[] = [
    ['Sessions started', totals.started, `${formatCount(totals.ended)} ended`],
    ['Verified', totals.verified, 'scored as human'],
    ['Refused', totals.refused, 'not charged'],
    ['Credits spent', totals.spent, `${usage.runway.spentPerDay.toFixed(1)} a day, last 7 days`],
  ]
  return (
    <dl class="tiles" aria-label="Sums of the period">
      {tiles.map(([name, value, note]) => (
        <div key={name} class="card tile">
          <dt class="muted">{name}</dt>
          <dd class="num big">{formatCount(value)}</dd>
          <dd class="small faint">{note}</dd>
        </div>
      ))}
    </dl>
  )
}

/** Page "Usage": what was used, why sessions were refused, and the credits. */
export const UsagePage = ({ api, query }: PageProps) => {
  const usage = useUsage(api, usagePeriodOf(query.get('period')))
  const balance = useQuery(() => api.call<Balance>('GET', '/api/agents/credits/balance'), 'balance', 15_000)
  const error = usage.error ?? balance.error
  return (
    <>
      <PageHead
        name="Usage"
        finding={usage.value ? `${formatCount(usage.value.runway.available)} credits left` : undefined}
      >
        {usage.value ? `${runwayText(usage.value.runway, Date.now())}.` : ' '}
      </PageHead>
      <Filters path="usage" query={query} filters={[periodChoice]} />
      {error ? <ErrorNote error={error} onRetry={() => (usage.refetch(), balance.refetch())} /> : null}
      {usage.value === undefined && usage.slow ? <Skeleton /> : null}
      {usage.value ? (
        <>
          <Totals usage={usage.value} />
          <div class="cols">
            <section class="card pad" aria-labelledby="sessions-plot">
              <h2 class="h3" id="sessions-plot">
                Sessions
              </h2>
              <SessionsPlot usage={usage.value} />
            </section>
            <section class="card pad" aria-labelledby="quality-plot">
              <h2 class="h3" id="quality-plot">
                Quality
              </h2>
              <QualityPlot usage={usage.value} />
            </section>
            <section class="card pad" aria-labelledby="refusals">
              <h2 class="h3" id="refusals">
                Why sessions were refused
              </h2>
              <ReasonBars usage={usage.value} />
              <SpentTable usage={usage.value} />
            </section>
            {balance.value ? (
              <div class="stack">
                <BillingCards api={api} balance={balance.value} onBought={balance.refetch} />
              </div>
            ) : null}
          </div>
        </>
      ) : null}
    </>
  )
}
