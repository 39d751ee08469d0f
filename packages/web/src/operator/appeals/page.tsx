import type { Appeal } from '@pohf/protocol'
import { useAction } from '../../shared/api/use-action.ts'
import type { Api } from '../../shared/api/client.ts'
import { useQuery } from '../../shared/api/use-query.ts'
import { rejectReasonText } from '../../shared/orders/messages.ts'
import { Skeleton, ActionResult, ErrorNote } from '../../shared/design/components.tsx'
import { hrefOf } from '../../shared/shell/router.ts'
import { timeAgo, pluralize } from '../../shared/design/time.ts'
import { AppealDrawer } from './appeal.tsx'

type Page = { readonly appeals: readonly Appeal[] }

const AppealTable = ({ appeals }: Page) => {
  const now = Date.now()
  return (
    <section class="card pad" aria-label="Appeals">
      <table>
        <thead>
          <tr>
            <th scope="col">Work</th>
            <th scope="col">Reason of the rejection</th>
            <th scope="col" class="num wide-only">
              Quality
            </th>
            <th scope="col" class="num">
              Waits
            </th>
          </tr>
        </thead>
        <tbody>
          {appeals.map((one) => (
            <tr key={one.assignmentId}>
              <th scope="row" class="address">
                <a href={hrefOf(['appeals'], { appeal: one.assignmentId })}>{one.title}</a>
              </th>
              <td>{rejectReasonText(one.rejection.reason)}</td>
              <td class="num wide-only">{one.quality === null ? '–' : one.quality.toFixed(2)}</td>
              <td class="num">{timeAgo(one.at, now).replace(' ago', '')}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

/** Page "Appeals": undecided appeals, oldest first. */
export const AppealsPage = ({ api, query }: { api: Api; query: URLSearchParams }) => {
  const loaded = useQuery(() => api.call<Page>('GET', '/operator/appeals?limit=100'), 'appeals')
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
            : `${pluralize(appeals.length, 'appeal waits', 'appeals wait')} for a decision, oldest first.`
          : ' '}
      </p>
      {loaded.error ? <ErrorNote error={loaded.error} onRetry={loaded.refetch} /> : null}
      <ActionResult message={action.message} error={undefined} />
      {appeals === undefined && loaded.slow ? <Skeleton /> : null}
      {appeals && appeals.length > 0 ? <AppealTable appeals={appeals} /> : null}
      {appeals && appeals.length === 0 ? (
        <section class="card pad">
          <p class="muted">
            When a buyer rejects a unit, the worker sees the reason and can appeal. Appeals are listed here.
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
