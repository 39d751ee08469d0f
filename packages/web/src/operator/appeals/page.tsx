import type { Appeal } from '@pohf/protocol'
import { useAction } from '../../shared/api/use-action.ts'
import type { Api } from '../../shared/api/client.ts'
import { useQuery } from '../../shared/api/use-query.ts'
import { rejectReasonText } from '../../shared/orders/messages.ts'
import { Skeleton, ActionResult, ErrorNote } from '../../shared/design/components.tsx'
import { hrefOf } from '../../shared/shell/router.ts'
import { CopyId } from '../../shared/design/copy-id.tsx'
import { Moment } from '../../shared/design/moment.tsx'
import { pluralize } from '../../shared/design/time.ts'
import { stepThroughRows } from '../../shared/lists/list-view.tsx'
import { AppealDrawer } from './appeal.tsx'

/** Decided appeals make room for later ones, so there is one page. */
const pageSize = 100

type Page = { readonly appeals: readonly Appeal[] }

const AppealTable = ({ appeals }: Page) => {
  const now = Date.now()
  return (
    <section class="card pad" aria-label="Appeals">
      <table class="stacked">
        <thead>
          <tr>
            <th scope="col">Work</th>
            <th scope="col">Reason for the rejection</th>
            <th scope="col" class="num">
              Quality
            </th>
            <th scope="col">Order</th>
            <th scope="col">Appealed, UTC</th>
          </tr>
        </thead>
        <tbody onKeyDown={stepThroughRows}>
          {appeals.map((one) => (
            <tr key={one.assignmentId}>
              <th scope="row" class="address">
                <a href={hrefOf(['appeals'], { appeal: one.assignmentId })}>{one.title}</a>
              </th>
              <td>{rejectReasonText(one.rejection.reason)}</td>
              <td class="num" data-label="Quality">
                {one.quality === null ? '–' : one.quality.toFixed(2)}
              </td>
              <td data-label="Order">
                <CopyId value={one.orderId} label="order" />
              </td>
              <td>
                <Moment at={one.at} now={now} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

/** Page "Appeals": undecided appeals, oldest first. */
export const AppealsPage = ({ api, query }: { api: Api; query: URLSearchParams }) => {
  const loaded = useQuery(() => api.call<Page>('GET', `/operator/appeals?limit=${pageSize}`), 'appeals')
  const action = useAction(loaded.refetch)
  const appeals = loaded.value?.appeals
  const chosen = query.get('appeal') ?? undefined
  const appeal = appeals?.find(({ assignmentId }) => assignmentId === chosen)
  return (
    <>
      <h1>Appeals</h1>
      <p class="lead muted" role="status">
        {appeals
          ? appeals.length === 0
            ? 'No appeal waits for a decision.'
            : `${appeals.length < pageSize ? '' : 'At least '}${pluralize(appeals.length, 'appeal waits', 'appeals wait')} for a decision, oldest first.`
          : ' '}
      </p>
      {loaded.error ? <ErrorNote error={loaded.error} onRetry={loaded.refetch} /> : null}
      <ActionResult message={action.message} error={undefined} />
      {appeals === undefined && loaded.slow ? <Skeleton /> : null}
      {appeals && appeals.length > 0 ? <AppealTable appeals={appeals} /> : null}
      {appeals && appeals.length === 0 ? (
        <section class="card pad">
          <p class="muted">
            When a buyer rejects a unit, the worker sees the reason and can appeal. Nothing to do until then.
          </p>
        </section>
      ) : null}
      {appeal ? (
        <AppealDrawer
          key={appeal.assignmentId}
          api={api}
          appeal={appeal}
          action={action}
          onClose={() => (location.hash = hrefOf(['appeals']))}
        />
      ) : null}
    </>
  )
}
