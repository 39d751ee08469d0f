import { ErrorNote, Skeleton } from '../../shared/design/components.tsx'
import { PageHead } from '../../shared/design/page-head.tsx'
import { pluralize } from '../../shared/design/time.ts'
import { formatCount, formatShare } from '../../shared/plots/scale.ts'
import type { PageProps } from '../../shared/shell/frame.tsx'
import { hrefOf } from '../../shared/shell/router.ts'
import { CredentialTable } from '../credentials/table.tsx'
import { QualityPlot, SessionsPlot } from '../usage/plots.tsx'
import { useUsage } from '../usage/use-usage.ts'
import type { CredentialRecord, Usage } from '../wire.ts'
import { ChecklistCard } from './checklist-card.tsx'
import { checklistOf, type ChecklistStep, type HomeData } from './checklist.ts'
import { liveLead } from './messages.ts'
import { HomeTiles, lastDay, sumOf } from './tiles.tsx'
import { isComplete, useHome } from './use-home.ts'
import { WebhooksCard } from './webhooks-card.tsx'

const EmptyPlot = ({ title, children }: { title: string; children: string }) => (
  <div class="empty">
    <p>
      <b>{title}</b>
    </p>
    <p class="small">{children}</p>
  </div>
)

const LatestCredentials = ({
  credentials,
  isTest,
}: {
  credentials: readonly CredentialRecord[]
  isTest: boolean
}) => (
  <section class="card pad" aria-labelledby="latest">
    <h2 class="h3" id="latest">
      Latest {isTest ? 'test ' : ''}credentials
    </h2>
    {credentials.length === 0 ? (
      <EmptyPlot title="No credential yet">The first one appears here within seconds.</EmptyPlot>
    ) : (
      <CredentialTable
        credentials={credentials}
        hrefOfCredential={(credential) => hrefOf(['credentials'], { credential })}
      />
    )}
    <p class="gap">
      <a href="#/credentials">
        {credentials.length === 0 ? 'Show the call that mints one' : 'All credentials'}
      </a>
    </p>
  </section>
)

const MonthCard = ({ daily }: { daily: Usage }) => (
  <section class="card pad" aria-labelledby="month">
    <h2 class="h3" id="month">
      The last 30 days
    </h2>
    <p class="muted small">
      {formatCount(daily.totals.verified)} verified, {formatCount(daily.totals.refused)} refused. Refusals are
      not charged.
    </p>
    {daily.totals.ended === 0 ? (
      <EmptyPlot title="No session yet">This fills with the first check on your page.</EmptyPlot>
    ) : (
      <SessionsPlot usage={daily} />
    )}
  </section>
)

const QualityCard = ({ daily }: { daily: Usage }) => {
  const total = daily.quality.reduce((sum, count) => sum + count, 0)
  const reached = daily.quality.slice(6).reduce((sum, count) => sum + count, 0)
  return (
    <section class="card pad" aria-labelledby="quality">
      <h2 class="h3" id="quality">
        Quality
      </h2>
      <p class="muted small">
        {total === 0
          ? 'No scored session yet.'
          : `${formatShare(reached / total)} of sessions reach the minimum.`}{' '}
        <a href="#/install">Choose your floor</a>
      </p>
      {total === 0 ? (
        <EmptyPlot title="No scored session">This fills with the first check that ends.</EmptyPlot>
      ) : (
        <QualityPlot usage={daily} />
      )}
    </section>
  )
}

const TestQuality = () => (
  <section class="card pad" aria-labelledby="quality">
    <h2 class="h3" id="quality">
      Quality
    </h2>
    <EmptyPlot title="No live sessions here">
      Test sessions are simulated, so their quality says nothing. In live mode this shows how yours are
      distributed.
    </EmptyPlot>
  </section>
)

const LiveView = ({ data, hourly, daily }: { data: HomeData; hourly: Usage; daily: Usage }) => (
  <>
    <HomeTiles hourly={hourly} daily={daily} webhooks={data.webhooks} />
    <div class="cols">
      <MonthCard daily={daily} />
      <QualityCard daily={daily} />
      <LatestCredentials credentials={data.credentials} isTest={false} />
      <WebhooksCard webhooks={data.webhooks} now={Date.now()} />
    </div>
  </>
)

const testFinding = (steps: readonly ChecklistStep[]): string => {
  const left = steps.filter(({ isDone }) => !isDone).length
  return `${pluralize(left, 'step')} to your first live credential`
}

const liveFinding = (hourly: Usage): string => {
  const verified = sumOf(lastDay(hourly), 'verified')
  return `${pluralize(verified, 'session')} verified in the last 24 hours`
}

/** Page "Home": what is so, and what to do next. In test mode it is the way to the first live credential. */
export const HomePage = ({ api }: PageProps) => {
  const home = useHome(api)
  const hourly = useUsage(api, { bucket: 'hour', hours: 47 })
  const daily = useUsage(api, { bucket: 'day', hours: 29 * 24 })
  const isTest = api.mode === 'test'
  const data = home.value
  const whole = data && isComplete(data) ? data : undefined
  const steps = whole
    ? checklistOf(whole, {
        mode: isTest ? 'test' : 'live',
        origin: location.origin,
        hasAccount: api.account !== undefined,
        now: Date.now(),
      })
    : []
  const finding = isTest
    ? whole
      ? testFinding(steps)
      : undefined
    : hourly.value
      ? liveFinding(hourly.value)
      : undefined
  const error = home.error ?? (isTest ? undefined : (hourly.error ?? daily.error))
  return (
    <>
      <PageHead name="Home" finding={finding}>
        {isTest
          ? 'You are in test mode. Nothing here is charged, and nothing here proves anything.'
          : liveLead(data?.webhooks, daily.value?.runway)}
      </PageHead>
      {error ? (
        <ErrorNote error={error} onRetry={() => (home.refetch(), hourly.refetch(), daily.refetch())} />
      ) : null}
      {data === undefined && home.slow ? <Skeleton /> : null}
      {data && !whole ? (
        <p class="note">
          This key may not read everything that this page shows. Sign in with a key that has all scopes.
        </p>
      ) : null}
      {whole ? <ChecklistCard steps={steps} /> : null}
      {whole && isTest ? (
        <div class="cols">
          <LatestCredentials credentials={whole.credentials} isTest />
          <TestQuality />
        </div>
      ) : null}
      {whole && !isTest && hourly.value && daily.value ? (
        <LiveView data={whole} hourly={hourly.value} daily={daily.value} />
      ) : null}
    </>
  )
}
