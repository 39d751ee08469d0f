import type { OrderReviewSummary } from '@pohf/protocol'
import { useAction } from '../../shared/api/use-action.ts'
import type { Api } from '../../shared/api/client.ts'
import { useQuery } from '../../shared/api/use-query.ts'
import { Skeleton, ActionResult, ErrorNote } from '../../shared/design/components.tsx'
import { hrefOf } from '../../shared/shell/router.ts'
import { CopyId } from '../../shared/design/copy-id.tsx'
import { Moment } from '../../shared/design/moment.tsx'
import { pluralize } from '../../shared/design/time.ts'
import { stepThroughRows } from '../../shared/lists/list-view.tsx'
import { causeText } from './messages.ts'
import { ReviewDrawer } from './review.tsx'

/** Decided reviews make room for later ones, so there is one page. */
const pageSize = 100

type Page = { readonly reviews: readonly OrderReviewSummary[] }

const ReviewTable = ({ reviews }: Page) => {
  const now = Date.now()
  return (
    <section class="card pad" aria-label="Reviews">
      <table class="stacked">
        <thead>
          <tr>
            <th scope="col">Work</th>
            <th scope="col">Why</th>
            <th scope="col">Workers get it</th>
            <th scope="col">Order</th>
            <th scope="col">Waits since, UTC</th>
            <th scope="col">Deadline, UTC</th>
          </tr>
        </thead>
        <tbody onKeyDown={stepThroughRows}>
          {reviews.map((one) => (
            <tr key={one.orderId}>
              <th scope="row" class="address">
                <a href={hrefOf(['reviews'], { order: one.orderId })}>{one.title}</a>
              </th>
              <td>{causeText(one)}</td>
              <td data-label="Workers get it">{one.held ? 'no' : 'yes'}</td>
              <td data-label="Order">
                <CopyId value={one.orderId} label="order" />
              </td>
              <td data-label="Waits since">
                <Moment at={one.since} now={now} />
              </td>
              <td data-label="Deadline">{one.until === null ? '–' : <Moment at={one.until} now={now} />}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

/** Page "Reviews": orders of new buyers, and orders that workers reported, oldest first. */
export const ReviewsPage = ({ api, query }: { api: Api; query: URLSearchParams }) => {
  const loaded = useQuery(() => api.call<Page>('GET', `/operator/reviews?limit=${pageSize}`), 'reviews')
  const action = useAction(loaded.refetch)
  const reviews = loaded.value?.reviews
  const chosen = reviews?.find(({ orderId }) => orderId === query.get('order'))
  return (
    <>
      <h1>Reviews</h1>
      <p class="lead muted" role="status">
        {reviews
          ? reviews.length === 0
            ? 'No order waits for a review.'
            : `${reviews.length < pageSize ? '' : 'At least '}${pluralize(reviews.length, 'order waits', 'orders wait')} for a review, oldest first.`
          : ' '}
      </p>
      {loaded.error ? <ErrorNote error={loaded.error} onRetry={loaded.refetch} /> : null}
      <ActionResult message={action.message} error={undefined} />
      {reviews === undefined && loaded.slow ? <Skeleton /> : null}
      {reviews && reviews.length > 0 ? <ReviewTable reviews={reviews} /> : null}
      {reviews && reviews.length === 0 ? (
        <section class="card pad">
          <p class="muted">
            The first paid orders of a live buyer wait here, and every order that workers report. An order
            that nobody reviews ends at its deadline and is refunded.
          </p>
        </section>
      ) : null}
      {chosen ? (
        <ReviewDrawer
          key={chosen.orderId}
          api={api}
          summary={chosen}
          action={action}
          onClose={() => (location.hash = hrefOf(['reviews']))}
        />
      ) : null}
    </>
  )
}
