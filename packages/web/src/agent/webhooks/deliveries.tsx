import type { WebhookDelivery } from '@pohf/protocol'
import type { ComponentChildren } from 'preact'
import { CopyId } from '../../shared/design/copy-id.tsx'
import { formatMilliseconds } from '../../shared/design/duration.ts'
import { Moment } from '../../shared/design/moment.tsx'
import { timeUntil } from '../../shared/design/time.ts'
import { deliveryStatusLabel } from './messages.ts'

const Attempts = ({ delivery, now }: { delivery: WebhookDelivery; now: number }) => (
  <ol class="attempts">
    {delivery.attempts.map((attempt) => (
      <li key={`${attempt.attempt} ${attempt.at}`}>
        <p>
          <b class="num">{attempt.status ?? attempt.fault}</b>{' '}
          <span class="num">in {formatMilliseconds(attempt.durationMs)}</span>{' '}
          <Moment at={attempt.at} now={now} />
        </p>
        {attempt.why === null ? null : <p class="muted">{attempt.why}</p>}
      </li>
    ))}
  </ol>
)

const Delivery = (props: {
  delivery: WebhookDelivery
  now: number
  busy: boolean
  onReplay: (id: string) => void
}) => {
  const { delivery, now } = props
  const [word, tone] = deliveryStatusLabel(delivery.state)
  const last = delivery.attempts.at(-1)
  return (
    <li class="delivery">
      <details>
        <summary>
          <span class={`chip ${tone}`}>{word}</span>
          <b>{delivery.type}</b>
          {last ? (
            <span class="muted num">
              {last.status ?? last.fault} in {formatMilliseconds(last.durationMs)}
            </span>
          ) : null}
          <span class="when small">
            <Moment at={delivery.createdAt} now={now} />
          </span>
        </summary>
        <div class="inside">
          {delivery.attempts.length === 0 ? (
            <p class="muted">
              {delivery.state === 'dead'
                ? 'Not attempted: the endpoint was disabled first.'
                : 'Not attempted yet.'}
            </p>
          ) : (
            <Attempts delivery={delivery} now={now} />
          )}
          {delivery.nextAttemptAt === null ? null : (
            <p class="muted">Next attempt {timeUntil(delivery.nextAttemptAt, now)}.</p>
          )}
          <p class="small">
            Event <CopyId value={delivery.eventId} label="event" /> · delivery{' '}
            <CopyId value={delivery.id} label="delivery" />
          </p>
          <p class="gap">
            <button
              type="button"
              class="btn"
              disabled={props.busy}
              onClick={() => props.onReplay(delivery.id)}
            >
              Send it again<span class="hidden">: {delivery.type}</span>
            </button>
          </p>
        </div>
      </details>
    </li>
  )
}

const filters: readonly (readonly [value: string, name: string])[] = [
  ['', 'All'],
  ['delivered', 'Delivered'],
  ['pending', 'Pending'],
  ['dead', 'Failed'],
]

/** The deliveries of an endpoint, newest first; each shows its attempts and why they failed. */
export const Deliveries = (props: {
  page: { readonly deliveries: readonly WebhookDelivery[]; readonly hasMore: boolean } | undefined
  state: string
  busy: boolean
  now: number
  onState: (state: string) => void
  onMore: (() => void) | undefined
  onReplay: (id: string) => void
  empty: ComponentChildren
}) => (
  <section class="card pad deliveries" aria-labelledby="deliveries">
    <div class="row">
      <h2 class="h3" id="deliveries">
        Deliveries
      </h2>
      <label class="small" for="state">
        Show
      </label>
      <select id="state" value={props.state} onChange={(event) => props.onState(event.currentTarget.value)}>
        {filters.map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
    </div>
    {props.page && props.page.deliveries.length === 0 ? (
      props.state === '' ? (
        props.empty
      ) : (
        <p class="muted gap">No delivery is in this state.</p>
      )
    ) : (
      <ul class="plainlist">
        {props.page?.deliveries.map((delivery) => (
          <Delivery
            key={delivery.id}
            delivery={delivery}
            now={props.now}
            busy={props.busy}
            onReplay={props.onReplay}
          />
        ))}
      </ul>
    )}
    {props.page?.hasMore && props.onMore ? (
      <p class="gap">
        <button type="button" class="btn" onClick={props.onMore}>
          Show more
        </button>
      </p>
    ) : null}
  </section>
)
