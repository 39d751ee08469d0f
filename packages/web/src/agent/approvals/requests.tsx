import { Commands } from '../../shared/design/components.tsx'
import { Moment } from '../../shared/design/moment.tsx'
import { PageHead } from '../../shared/design/page-head.tsx'
import { timeUntil } from '../../shared/design/time.ts'
import { filterValues, periodFilter } from '../../shared/lists/filter.ts'
import { Filters } from '../../shared/lists/filters.tsx'
import { FindForm } from '../../shared/lists/find-form.tsx'
import { ListBody, NoMatch, Pager, stepThroughRows, useListPage } from '../../shared/lists/list-view.tsx'
import type { PageProps } from '../../shared/shell/frame.tsx'
import { hrefOf } from '../../shared/shell/router.ts'
import type { Approvals, ListedApproval } from '../wire.ts'
import { ApprovalDrawer } from './approval-drawer.tsx'
import { approvalLabels, approvalsFinding, statusFilter } from './messages.ts'

const filters = [statusFilter, periodFilter()]
const filterNames = [...filters.map(({ name }) => name), 'type']

const requestCommands = (
  origin: string,
  isTest: boolean,
): string => `curl -s ${origin}/api/agents/approvals \\
  -H "Authorization: Bearer $POHF_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{"type":"${isTest ? 'test.invoice' : 'invoice.pay'}","requestId":"inv-4711",
    "action":{"amount":"125.00","recipient":"DE02120300000000202051"},
    "approvers":["${isTest ? 'apv_test_approves' : 'APPROVER_OF_YOURS'}"]}'`

const NoRequests = ({ isTest }: { isTest: boolean }) => (
  <div class="two">
    <section class="card pad" aria-labelledby="first-steps">
      <h2 class="h3" id="first-steps">
        What an owner does first
      </h2>
      <ol class="steps-list gap">
        <li>
          <a href={hrefOf(['approvals', 'types'])}>Register an action type</a>, such as{' '}
          <code>invoice.pay</code>: its fields, its labels and its policy.
        </li>
        <li>
          <a href={hrefOf(['approvals', 'people'])}>Invite the people who approve</a>. They enrol with a
          passkey.
        </li>
        <li>
          Let your agent ask. Its key needs the scope <code>approvals</code>.
        </li>
      </ol>
    </section>
    <section class="card pad" aria-labelledby="ask-command">
      <h2 class="h3" id="ask-command">
        Ask for the first approval
      </h2>
      <p class="muted gap">
        {isTest
          ? 'In test mode this works at once: types that begin with test. need no owner, and apv_test_approves is no person. It appears here:'
          : 'Your agent sends the exact action. It appears here:'}
      </p>
      <Commands text={requestCommands(location.origin, isTest)} label="Command that asks for an approval" />
    </section>
  </div>
)

const RequestRow = ({ request, href, now }: { request: ListedApproval; href: string; now: number }) => {
  const { word, tone } = approvalLabels[request.status]
  return (
    <tr>
      <th scope="row" class="address">
        <a href={href}>{request.type}</a>
        <span class="small muted block">{request.requestId}</span>
      </th>
      <td>
        <span class={`chip ${tone}`}>{word}</span>
        {request.status === 'pending' ? (
          <span class="small muted block">expires {timeUntil(request.decideBy, now)}</span>
        ) : null}
      </td>
      <td class="num" data-label="Approved">
        {request.approved} of {request.quorum}
      </td>
      <td class="wide-only">
        <Moment at={request.createdAt} now={now} />
      </td>
      <td class="wide-only">
        {request.consumedAt === null ? '–' : <Moment at={request.consumedAt} now={now} />}
      </td>
    </tr>
  )
}

type TableProps = {
  readonly approvals: readonly ListedApproval[]
  readonly hrefOfApproval: (id: string) => string
}
const RequestTable = ({ approvals, hrefOfApproval }: TableProps) => {
  const now = Date.now()
  return (
    <section class="card pad" aria-label="Requests">
      <table class="stacked" onKeyDown={stepThroughRows}>
        <thead>
          <tr>
            <th scope="col">Action</th>
            <th scope="col">State</th>
            <th scope="col" class="num">
              Approved
            </th>
            <th scope="col" class="wide-only">
              Requested, UTC
            </th>
            <th scope="col" class="wide-only">
              Consumed, UTC
            </th>
          </tr>
        </thead>
        <tbody>
          {approvals.map((request) => (
            <RequestRow
              key={request.approvalId}
              request={request}
              href={hrefOfApproval(request.approvalId)}
              now={now}
            />
          ))}
        </tbody>
      </table>
    </section>
  )
}

/** The queue and the history. */
export const RequestsPart = ({ api, query }: PageProps) => {
  const values = filterValues(query, filterNames)
  const cursor = query.get('cursor')
  const chosen = query.get('approval')
  const now = Date.now()
  const { period, ...wanted } = values
  const loaded = useListPage<Approvals>(api, '/api/agents/approvals', {
    limit: '50',
    ...wanted,
    from: { last: period },
    cursor: cursor ?? undefined,
  })
  const page = loaded.value
  const isFiltered = Object.values(values).some((value) => value !== undefined) || cursor !== null
  const here = { ...values, cursor: cursor ?? undefined }
  return (
    <>
      <PageHead name="Approvals" finding={page ? approvalsFinding(page, now, isFiltered, cursor) : undefined}>
        Each shows that a named person was shown this exact action, attended and decided.
      </PageHead>
      <div class="listhead">
        <Filters path="approvals" query={query} filters={filters} also={['type']} />
        <FindForm
          key={values['type'] ?? ''}
          label="By action type"
          placeholder="invoice.pay"
          initial={values['type'] ?? ''}
          onFind={(type) =>
            (location.hash = hrefOf(['approvals'], { ...values, type: type === '' ? undefined : type }))
          }
        />
      </div>
      <ListBody
        loaded={loaded}
        count={page?.approvals.length}
        empty={
          isFiltered ? (
            <NoMatch what="requests" hasMore={page !== undefined && page.nextCursor !== null} />
          ) : (
            <NoRequests isTest={api.mode === 'test'} />
          )
        }
      >
        <RequestTable
          approvals={page?.approvals ?? []}
          hrefOfApproval={(approval) => hrefOf(['approvals'], { ...here, approval })}
        />
      </ListBody>
      <Pager path="approvals" values={values} cursor={cursor} nextCursor={page?.nextCursor ?? null} />
      {chosen === null ? null : (
        <ApprovalDrawer
          key={chosen}
          api={api}
          approvalId={chosen}
          onClose={() => (location.hash = hrefOf(['approvals'], here))}
        />
      )}
    </>
  )
}
