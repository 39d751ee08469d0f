import { Commands } from '../../shared/design/components.tsx'
import { hrefOf } from '../../shared/shell/router.ts'
import { isNarrowed, periodLabel } from './window.ts'

/** The one line of a landing page. */
export const visitLine = (origin: string): string => `<script async src="${origin}/visit.js"></script>`

/** No view in the period: another period, or the first view. */
export const NoViews = ({ path, query }: { path: 'attention' | 'funnel'; query: URLSearchParams }) => (
  <section class="card pad" aria-labelledby="no-views">
    <h2 class="h3" id="no-views">
      {isNarrowed(query) ? 'No view matches' : 'Nobody was checked yet'}
    </h2>
    {isNarrowed(query) ? (
      <p class="gap">
        {periodLabel(query.get('period'))} had no view of this site and workflow.{' '}
        <a href={hrefOf([path])}>Clear the filters</a>
      </p>
    ) : (
      <>
        <p class="muted gap">
          {periodLabel(query.get('period'))}: no view. Put the check into a page and pass it once, or simulate
          a view with a test key:
        </p>
        <Commands
          label="Command that simulates a view"
          text={`curl -s ${location.origin}/api/agents/verify \\
  -H "Authorization: Bearer $POHF_KEY" \\
  --json '{"sessionId":"view-1"}'`}
        />
        <p class="gap">
          <a class="btn" href={hrefOf(['install'])}>
            Show the snippet
          </a>
        </p>
      </>
    )}
  </section>
)

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
