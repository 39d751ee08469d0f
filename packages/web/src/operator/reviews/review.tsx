import type { OrderReview, OrderReviewSummary } from '@pohf/protocol'
import type { Action } from '../../shared/api/use-action.ts'
import type { Api } from '../../shared/api/client.ts'
import { useQuery } from '../../shared/api/use-query.ts'
import { Drawer, closeDrawer } from '../../shared/design/drawer.tsx'
import { ErrorNote, Skeleton } from '../../shared/design/components.tsx'
import { CopyId } from '../../shared/design/copy-id.tsx'
import { Moment } from '../../shared/design/moment.tsx'
import { Value } from '../../shared/design/value.tsx'
import { formatUsd } from '../../shared/orders/messages.ts'
import { hrefOf } from '../../shared/shell/router.ts'
import { DecisionForm } from '../decision-form.tsx'
import { Facts } from '../facts.tsx'
import { reportReasonTexts } from './messages.ts'

/** Everything of the buyer that workers read, as plain text. */
const Texts = ({ review }: { review: OrderReview }) => (
  <>
    {review.instructions === null ? null : (
      <section aria-labelledby="instructions">
        <h3 id="instructions">Instructions</h3>
        <p class="said">{review.instructions}</p>
      </section>
    )}
    {review.items.length === 0 ? null : (
      <section aria-labelledby="items">
        <h3 id="items">Items</h3>
        <Value value={review.items} label="Items" />
      </section>
    )}
    <section aria-labelledby="answer-form">
      <h3 id="answer-form">Answer form</h3>
      <Value value={review.answerForm} label="Answer form" />
    </section>
  </>
)

const Reports = ({ reports }: Pick<OrderReview, 'reports'>) =>
  reports.length === 0 ? null : (
    <section aria-labelledby="reports">
      <h3 id="reports">Reports of workers</h3>
      <ul class="plain">
        {reports.map(({ at, reason, counts }) => (
          <li key={at}>
            {reportReasonTexts[reason]}, <Moment at={at} now={Date.now()} />
            {counts
              ? ''
              : ' (does not count: earlier reports of this worker were dismissed, or the worker saw only our own words)'}
          </li>
        ))}
      </ul>
    </section>
  )

const BuyerFacts = ({ review }: { review: OrderReview }) => (
  <Facts
    rows={[
      ['Buyer', <CopyId value={review.agentId} label="agent" />],
      ['Orders completed', review.buyer.completed],
      ['Orders refused in a year', review.buyer.refused],
      [
        'Reports of workers',
        `${review.buyer.reports.open} open, ${review.buyer.reports.upheld} upheld, ${review.buyer.reports.dismissed} dismissed`,
      ],
      ['Units', review.quantity],
      ['Price', formatUsd(review.totalUsd)],
      ['Order', <CopyId value={review.orderId} label="order" />],
      ['Mode', review.mode],
    ]}
  />
)

type DecisionProps = { readonly api: Api; readonly summary: OrderReviewSummary; readonly action: Action }

const ReviewDecision = ({ api, summary, action }: DecisionProps) => {
  const { agentId, orderId, mode } = summary
  const decide = async (isApproved: boolean, reason: string) => {
    const message = isApproved ? 'The order was approved.' : 'The order was refused.'
    const decision = isApproved ? 'approved' : 'refused'
    const path = `/operator/agents/${encodeURIComponent(agentId)}/orders/${encodeURIComponent(orderId)}/review`
    const body = { mode, decision, ...(reason === '' ? {} : { reason }) }
    if (await action.run(message, () => api.call('POST', path, body))) closeDrawer(hrefOf(['reviews']))
  }
  return (
    <DecisionForm
      id="review-reason"
      texts={{
        hint: 'the buyer reads it; required for a refusal',
        accept: 'Approve',
        refuse: 'Refuse and refund',
        maxLength: 500,
      }}
      acceptsWithReason={false}
      busy={action.busy}
      onDecide={(isApproved, reason) => void decide(isApproved, reason)}
    />
  )
}

/** One order that waits for a review: its texts, its reports, the record of its buyer, and the decision. */
export const ReviewDrawer = (props: DecisionProps & { readonly onClose: () => void }) => {
  const { api, summary, action } = props
  const { agentId, orderId, mode } = summary
  const path = `/operator/agents/${encodeURIComponent(agentId)}/orders/${encodeURIComponent(orderId)}/review?mode=${mode}`
  const loaded = useQuery(() => api.call<OrderReview>('GET', path), path)
  const review = loaded.value
  return (
    <Drawer title={summary.title} onClose={props.onClose}>
      <p class="muted">
        Approved, the order goes to workers. Refused, it is cancelled, what nobody has done is refunded, and
        the refusal weighs on the buyer for a year. Open no address in it.
      </p>
      {action.error ? <ErrorNote error={action.error} /> : null}
      {loaded.error ? <ErrorNote error={loaded.error} onRetry={loaded.refetch} /> : null}
      {review === undefined && loaded.slow ? <Skeleton /> : null}
      {review ? (
        <>
          <Texts review={review} />
          <Reports reports={review.reports} />
          <ReviewDecision api={api} summary={summary} action={action} />
          <BuyerFacts review={review} />
        </>
      ) : null}
    </Drawer>
  )
}
