import { useAction } from '../../shared/api/use-action.ts'
import { ActionResult } from '../../shared/design/components.tsx'
import { Moment } from '../../shared/design/moment.tsx'
import { PageHead } from '../../shared/design/page-head.tsx'
import { pluralize } from '../../shared/design/time.ts'
import { filterValues, type Filter } from '../../shared/lists/filter.ts'
import { Filters } from '../../shared/lists/filters.tsx'
import { ListBody, Pager, stepThroughRows, useListPage } from '../../shared/lists/list-view.tsx'
import type { PageProps } from '../../shared/shell/frame.tsx'
import { hrefOf } from '../../shared/shell/router.ts'
import type { Forward, ForwardPage } from '../wire.ts'
import { ForwardDrawer } from './drawer.tsx'
import { assessmentLabels, formatHours, statusLabels } from './messages.ts'

const filters: readonly Filter[] = [
  {
    name: 'status',
    label: 'Requests',
    options: [
      ['', 'Waiting for an answer'],
      ['quoted', 'Quoted'],
      ['countersigned', 'Countersigned'],
      ['invoiced', 'Invoiced'],
      ['closed', 'Closed'],
    ],
  },
]

const finding = ({ forwards, nextCursor }: ForwardPage, filter: string | undefined): string => {
  if (forwards.length === 0)
    return filter === undefined ? 'No request waits for an answer' : 'No request here'
  const count = pluralize(forwards.length, 'request')
  const counted = nextCursor === null ? count : `More than ${count}`
  return filter === undefined ? `${counted} to answer` : counted
}

const ForwardTable = (props: {
  forwards: readonly Forward[]
  hrefOfForward: (orderId: string) => string
}) => {
  const now = Date.now()
  return (
    <section class="card pad" aria-label="Requests for capacity">
      <table class="stacked">
        <thead>
          <tr>
            <th scope="col">Company</th>
            <th scope="col">Month</th>
            <th scope="col" class="num">
              Hours
            </th>
            <th scope="col">Capacity</th>
            <th scope="col">State</th>
            <th scope="col">Came in, UTC</th>
          </tr>
        </thead>
        <tbody onKeyDown={stepThroughRows}>
          {props.forwards.map((forward) => (
            <tr key={forward.orderId}>
              <th scope="row" class="address">
                <a href={props.hrefOfForward(forward.orderId)}>{forward.company}</a>
              </th>
              <td data-label="Month">{forward.month}</td>
              <td class="num" data-label="Hours">
                {formatHours(forward.hours)}
              </td>
              <td>
                <span class={`chip ${assessmentLabels[forward.capacity.assessment].tone}`}>
                  {assessmentLabels[forward.capacity.assessment].word}
                </span>
              </td>
              <td>
                <span class={`chip ${statusLabels[forward.status].tone}`}>
                  {statusLabels[forward.status].word}
                </span>
              </td>
              <td>
                <Moment at={forward.receivedAt} now={now} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

/** Page "Forwards": requests for prepaid hours of later months. */
export const ForwardsPage = ({ api, query }: PageProps) => {
  const values = filterValues(query, ['status'])
  const cursor = query.get('cursor')
  const chosen = query.get('forward')
  const loaded = useListPage<ForwardPage>(api, '/operator/forwards', {
    limit: '50',
    status: values['status'],
    cursor: cursor ?? undefined,
  })
  const action = useAction(loaded.refetch)
  const page = loaded.value
  const here = { ...values, cursor: cursor ?? undefined }
  const forward = page?.forwards.find(({ orderId }) => orderId === chosen)
  return (
    <>
      <PageHead name="Forwards" finding={page ? finding(page, values['status']) : undefined}>
        Requests for prepaid verified human hours, oldest first. They are not transferable, not resellable and
        never settled in cash.
      </PageHead>
      <div class="listhead">
        <Filters path="forwards" query={query} filters={filters} />
      </div>
      <ActionResult message={action.message} error={undefined} />
      <ListBody
        loaded={loaded}
        count={page?.forwards.length}
        empty={
          <p class="card pad muted">
            A request is listed here when somebody asks for hours of a later month.
          </p>
        }
      >
        <ForwardTable
          forwards={page?.forwards ?? []}
          hrefOfForward={(id) => hrefOf(['forwards'], { ...here, forward: id })}
        />
      </ListBody>
      <Pager
        path="forwards"
        values={values}
        cursor={cursor}
        nextCursor={page?.nextCursor ?? null}
        isOldestFirst
      />
      {forward ? (
        <ForwardDrawer
          key={forward.orderId}
          api={api}
          forward={forward}
          action={action}
          back={hrefOf(['forwards'], here)}
        />
      ) : null}
    </>
  )
}
