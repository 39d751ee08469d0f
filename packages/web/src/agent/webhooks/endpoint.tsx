import type { WebhookDelivery, WebhookEndpoint } from '@pohf/protocol'
import { useState } from 'preact/hooks'
import { CopyId } from '../../shared/design/copy-id.tsx'
import { useAction } from '../../shared/api/use-action.ts'
import type { Api } from '../../shared/api/client.ts'
import { useQuery } from '../../shared/api/use-query.ts'
import {
  Skeleton,
  Commands,
  ActionResult,
  SecretNote,
  ConfirmButton,
  ErrorNote,
} from '../../shared/design/components.tsx'
import { Deliveries } from './deliveries.tsx'
import { Sparkline } from './sparkline.tsx'
import { healthSummary, defaultRecoverSince, endpointStatusText, endpointTone } from './messages.ts'

type Page = { readonly deliveries: readonly WebhookDelivery[]; readonly hasMore: boolean }
type EndpointData = { readonly endpoint: WebhookEndpoint | undefined; readonly page: Page }

const RecoverForm = (given: {
  endpoint: WebhookEndpoint
  busy: boolean
  onRecover: (since: string) => void
}) => {
  const [since, setSince] = useState(() => defaultRecoverSince(given.endpoint, Date.now()))
  return (
    <form
      class="paste"
      onSubmit={(event) => {
        event.preventDefault()
        given.onRecover(new Date(`${since}Z`).toISOString())
      }}
    >
      <label for="since">
        What it missed since <span class="faint">UTC, at most 30 days ago</span>
      </label>
      <input
        id="since"
        type="datetime-local"
        required
        value={since}
        onInput={(event) => setSince(event.currentTarget.value)}
      />
      <p>
        <button class="btn" type="submit" disabled={given.busy}>
          {given.endpoint.enabled ? 'Send what it missed' : 'Switch on and send what it missed'}
        </button>
      </p>
    </form>
  )
}

/** One endpoint: how it is, what can be done with it, and everything that it was sent. */
export const EndpointView = ({ api, id }: { api: Api; id: string }) => {
  const [state, setState] = useState('')
  const [limit, setLimit] = useState(20)
  const [secret, setSecret] = useState<{ text: string; until: string | null }>()
  const path = `/api/agents/webhooks/${encodeURIComponent(id)}`
  const query = `?limit=${limit}${state === '' ? '' : `&state=${state}`}`
  const loaded = useQuery<EndpointData>(async () => {
    const [all, page] = await Promise.all([
      api.call<{ webhooks: WebhookEndpoint[] }>('GET', '/api/agents/webhooks'),
      api.call<Page>('GET', `${path}/deliveries${query}`),
    ])
    return { endpoint: all.webhooks.find((one) => one.id === id), page }
  }, `${id}${query}`)

  const { busy, message: said, error: trouble, run: act } = useAction(loaded.refetch)
  const rotate = () =>
    act('The secret was rotated.', async () => {
      const answer = await api.call<{ signingSecret: string; previousSecretUntil: string | null }>(
        'POST',
        `${path}/rotate`,
        {},
      )
      setSecret({ text: answer.signingSecret, until: answer.previousSecretUntil })
    })
  const endpoint = loaded.value?.endpoint
  const now = Date.now()
  return (
    <>
      <p class="small">
        <a href="#/webhooks">All endpoints</a>
      </p>
      {loaded.error ? <ErrorNote trouble={loaded.error} onRetry={loaded.refetch} /> : null}
      {!endpoint && loaded.slow ? <Skeleton /> : null}
      {endpoint ? (
        <>
          <h1 class="address">{endpoint.url}</h1>
          <p class="lead muted">
            <span class={`chip ${endpointTone(endpoint.state)}`}>{endpoint.state}</span>{' '}
            {endpointStatusText(endpoint, now)}
          </p>
          <ActionResult said={said} trouble={trouble} />
          {secret === undefined ? null : (
            <SecretNote secret={secret.text} onDone={() => setSecret(undefined)}>
              {secret.until === null
                ? 'The old secret signs no more.'
                : `Until ${secret.until} every delivery is signed with both secrets.`}
            </SecretNote>
          )}
          <div class="two">
            <section class="card pad" aria-labelledby="facts">
              <h2 class="h3" id="facts">
                Health
              </h2>
              <Sparkline endpoint={endpoint} now={now} />
              <p class="muted gap">{healthSummary(endpoint)}</p>
              <dl class="facts">
                <div>
                  <dt>Endpoint</dt>
                  <dd>
                    <CopyId value={endpoint.id} label="endpoint" />
                  </dd>
                </div>
                <div>
                  <dt>Events</dt>
                  <dd>{endpoint.events.join(', ')}</dd>
                </div>
                <div>
                  <dt>Waiting</dt>
                  <dd class="num">{endpoint.waiting}</dd>
                </div>
                {endpoint.previousSecretUntil ? (
                  <div>
                    <dt>Old secret signs until</dt>
                    <dd class="num">{endpoint.previousSecretUntil.slice(0, 16).replace('T', ' ')} UTC</dd>
                  </div>
                ) : null}
              </dl>
            </section>
            <section class="card pad" aria-labelledby="acts">
              <h2 class="h3" id="acts">
                What you can do
              </h2>
              <div class="acts">
                <button
                  type="button"
                  class="btn main"
                  disabled={busy || !endpoint.enabled}
                  onClick={() =>
                    void act('A test event is on its way.', () => api.call('POST', `${path}/test`))
                  }
                >
                  Send a test event
                </button>
                <ConfirmButton
                  label="Rotate the secret"
                  sure="Rotate: the old one signs on for a day"
                  disabled={busy}
                  onDo={() => void rotate()}
                />
                <button
                  type="button"
                  class="btn"
                  disabled={busy}
                  onClick={() =>
                    void act(endpoint.enabled ? 'Switched off.' : 'Switched on.', () =>
                      api.call('PATCH', path, { enabled: !endpoint.enabled }),
                    )
                  }
                >
                  {endpoint.enabled ? 'Switch off' : 'Switch on'}
                </button>
                <ConfirmButton
                  label="Delete"
                  sure="Delete for good"
                  disabled={busy}
                  onDo={() =>
                    void act('Deleted.', async () => {
                      await api.call('DELETE', path)
                      location.hash = '#/webhooks'
                    })
                  }
                />
              </div>
              <RecoverForm
                endpoint={endpoint}
                busy={busy}
                onRecover={(since) =>
                  void act('What it missed is being sent.', () =>
                    api.call('POST', `${path}/recover`, { since }),
                  )
                }
              />
            </section>
          </div>
          <Deliveries
            page={loaded.value?.page}
            state={state}
            busy={busy}
            now={now}
            onState={(chosen) => (setLimit(20), setState(chosen))}
            onMore={limit < 100 ? () => setLimit(100) : undefined}
            onReplay={(deliveryId) =>
              void act('It is sent again now.', () =>
                api.call('POST', `/api/agents/webhooks/deliveries/${encodeURIComponent(deliveryId)}/replay`),
              )
            }
            empty={
              <>
                <p class="muted gap">Nothing was sent yet. Send a test event above, or make one happen:</p>
                <Commands
                  text={`pohf trigger ${endpoint.events[0] === '*' ? 'credential.issued' : (endpoint.events[0] ?? '')} \\\n  --url ${location.origin}`}
                  label="Command that makes an event happen"
                />
              </>
            }
          />
        </>
      ) : null}
      {loaded.value && !endpoint ? <p class="lead">You have no webhook endpoint with this id.</p> : null}
    </>
  )
}
