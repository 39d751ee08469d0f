import type { Api } from '../../shared/api/client.ts'
import { Commands } from '../../shared/design/components.tsx'
import { hrefOf } from '../../shared/shell/router.ts'
import { isNarrowed, periodLabel } from './window.ts'

/** The one line of a landing page. */
export const visitLine = (origin: string): string => `<script async src="${origin}/visit.js"></script>`

type NoViewsProps = {
  readonly path: 'attention' | 'funnel'
  readonly query: URLSearchParams
  readonly mode: Api['mode']
}

/** How the first view comes about. */
const FirstView = ({ mode }: { mode: Api['mode'] }) => (
  <>
    <p class="muted gap">
      Put the check into a page and pass it once
      {mode === 'test' ? ', or simulate a view with your test key:' : '.'}
    </p>
    {mode === 'test' ? (
      <Commands
        label="Command that simulates a view"
        text={`curl -s ${location.origin}/api/agents/verify \\
  -H "Authorization: Bearer $POHF_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{"sessionId":"view-1"}'`}
      />
    ) : null}
    <p class="gap">
      <a class="btn" href={hrefOf(['install'])}>
        Show the snippet
      </a>
    </p>
  </>
)

/** No view in the period: other filters, another period, or the first view. */
export const NoViews = ({ path, query, mode }: NoViewsProps) => {
  const what = path === 'funnel' ? 'verified view' : 'view'
  const period = query.get('period')
  const isLongest = period === '90d'
  return (
    <section class="card pad" aria-labelledby="no-views">
      <h2 class="h3" id="no-views">
        {isNarrowed(query) ? `No ${what} matches` : `Get your first ${what}`}
      </h2>
      {isNarrowed(query) ? (
        <p class="gap">
          {periodLabel(period)}: no {what} of this site and workflow. A site is the host of the page, such as{' '}
          <code>shop.example</code>. <a href={hrefOf([path])}>Clear the filters</a>
        </p>
      ) : (
        <>
          <p class="gap">
            {periodLabel(period)}: no {what}.{' '}
            {isLongest ? null : <a href={hrefOf([path], { period: '90d' })}>Show the last 90 days</a>}
          </p>
          <FirstView mode={mode} />
        </>
      )}
    </section>
  )
}

/** There are views, and no landing page has reported a visit. */
export const NoVisits = () => (
  <>
    <p class="muted gap">
      No landing page has reported a visit in this period. Put this line into your landing page, and the view
      token into the address of its link, as <code>pohf_vt</code>:
    </p>
    <Commands label="Line for a landing page" text={visitLine(location.origin)} />
    <p class="gap">
      <a href={hrefOf(['install'])}>Check the installation of your landing page</a>
    </p>
  </>
)
