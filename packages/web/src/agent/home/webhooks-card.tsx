import type { WebhookEndpoint } from '@pohf/protocol'
import { Sparkline } from '../webhooks/sparkline.tsx'
import { endpointStatusText, endpointTone } from '../webhooks/messages.ts'
import { hrefOf } from '../../shared/shell/router.ts'

/** The endpoints, those that fail first. */
export const WebhooksCard = ({ webhooks, now }: { webhooks: readonly WebhookEndpoint[]; now: number }) => {
  const shown = webhooks
    .toSorted((a, b) => Number(a.state === 'healthy') - Number(b.state === 'healthy'))
    .slice(0, 3)
  return (
    <section class="card pad" aria-labelledby="hooks">
      <h2 class="h3" id="hooks">
        Webhooks
      </h2>
      {shown.length === 0 ? (
        <div class="empty">
          <p>
            <b>No endpoint yet</b>
          </p>
          <p class="small">
            An endpoint hears of every credential, order and purchase within seconds.{' '}
            <a href="#/webhooks">Add one</a>
          </p>
        </div>
      ) : (
        <ul class="plainlist hooks">
          {shown.map((endpoint) => (
            <li key={endpoint.id}>
              <p class="spread">
                <a class="address" href={hrefOf(['webhooks', endpoint.id])}>
                  {endpoint.url.replace(/^https?:\/\//, '')}
                </a>{' '}
                <span class={`chip ${endpointTone(endpoint.state)}`}>{endpoint.state}</span>
              </p>
              <Sparkline endpoint={endpoint} now={now} />
              <p class="small muted">{endpointStatusText(endpoint, now)}</p>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}
