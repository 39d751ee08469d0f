import { ErrorNote, Skeleton } from '../../shared/design/components.tsx'
import { PageHead } from '../../shared/design/page-head.tsx'
import type { PageProps } from '../../shared/shell/frame.tsx'
import { useOverview } from '../use-operators.ts'
import type { Overview } from '../wire.ts'
import { ChecksCard, KeysCard, QueuesCard } from './health.tsx'
import { decisionsOf, decisionsText, formatBounded, problemsOf } from './messages.ts'
import { MoneyCard } from './money-checks.tsx'

const DecisionsCard = ({ overview }: { overview: Overview }) => (
  <section class="card pad" aria-labelledby="decisions">
    <h2 class="h3" id="decisions">
      Decisions
    </h2>
    <ul class="plainlist lines">
      {decisionsOf(overview).map(({ name, count, href }) => (
        <li key={name} class="spread">
          <a href={href}>{name}</a>
          <span class={`num ${count > 0 ? '' : 'faint'}`}>{formatBounded(count)}</span>
        </li>
      ))}
    </ul>
  </section>
)

const findingOf = (overview: Overview): string => {
  const problems = problemsOf(overview)
  return problems.length === 0 ? 'Everything works' : (problems[0] ?? '').replace(/\.( .*)?$/, '')
}

/** Page "Overview": whether the service works, and what waits for an operator. */
export const OverviewPage = ({ api }: PageProps) => {
  const loaded = useOverview(api)
  const overview = loaded.value
  const problems = overview ? problemsOf(overview) : []
  const now = Date.now()
  return (
    <>
      <PageHead name="Overview" finding={overview ? findingOf(overview) : undefined}>
        {overview ? decisionsText(overview) : undefined}
      </PageHead>
      {loaded.error ? <ErrorNote error={loaded.error} onRetry={loaded.refetch} /> : null}
      {overview === undefined && loaded.slow ? <Skeleton /> : null}
      {problems.length === 0 ? null : (
        <ul class="note stop plainlist" aria-label="Problems">
          {problems.map((problem) => (
            <li key={problem}>{problem}</li>
          ))}
        </ul>
      )}
      {overview ? (
        <div class="cols">
          <div class="column-cards">
            <DecisionsCard overview={overview} />
            <QueuesCard overview={overview} />
            <MoneyCard api={api} overview={overview} />
          </div>
          <div class="column-cards">
            <ChecksCard overview={overview} now={now} />
            <KeysCard overview={overview} now={now} />
          </div>
        </div>
      ) : null}
    </>
  )
}
