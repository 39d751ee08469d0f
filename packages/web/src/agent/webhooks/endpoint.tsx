import type { WebhookDelivery, WebhookEndpoint } from '@pohf/protocol'
import { useState } from 'preact/hooks'
import { CopyId } from '../../shared/design/copy-id.tsx'
import { useAction, type Action } from '../../shared/api/use-action.ts'
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
import { formatUtc } from '../../shared/design/time.ts'
import { Deliveries } from './deliveries.tsx'
import { Sparkline } from './sparkline.tsx'
import { healthSummary, defaultRecoverSince, endpointStatusText, endpointTone } from './messages.ts'

type Page = { readonly deliveries: readonly WebhookDelivery[]; readonly hasMore: boolean }
type RotatedSecret = { readonly text: string; readonly until: string | null }
type EndpointData = { readonly endpoint: WebhookEndpoint | undefined; readonly page: Page }

const RecoverForm = (props: {
  endpoint: WebhookEndpoint
  busy: boolean
  onRecover: (since: string) => void
}) => {
  const [since, setSince] = useState(() => defaultRecoverSince(props.endpoint, Date.now()))
  return (
    <form
      class="paste"
      onSubmit={(event) => {
        event.preventDefault()
        props.onRecover(new Date(`${since}Z`).toISOString())
      }}
    >
      <label for="since">
        Missed events since <span class="faint">UTC, at most 30 days ago</span>
      </label>
      <input
        id="since"
        type="datetime-local"
        required
        value={since}
        onInput={(event) => setSince(event.currentTarget.value)}
      />
      <p>
        <button class="btn" type="submit" disabled={props.busy}>
          {props.endpoint.enabled ? 'Send missed events' : 'Enable and send missed events'}
        </button>
      </p>
    </form>
  )
}

const Health = ({ endpoint, now }: { endpoint: WebhookEndpoint; now: number }) => (
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
        <dt>Queued</dt>
        <dd class="num">{endpoint.waiting}</dd>
      </div>
      {endpoint.previousSecretUntil ? (
        <div>
          <dt>Old secret signs until</dt>
          <dd class="num">{formatUtc(endpoint.previousSecretUntil)}</dd>
        </div>
      ) : null}
    </dl>
  </section>
)

type ActionProps = {
  readonly api: Api
  readonly path: string
  readonly endpoint: WebhookEndpoint
  readonly action: Action
}

const EndpointActions = (props: ActionProps & { readonly onRotated: (secret: RotatedSecret) => void }) => {
  const { api, path, endpoint, action } = props
  const { busy, run } = action
  const rotate = async () => {
    const answer = await api.call<{ signingSecret: string; previousSecretUntil: string | null }>(
      'POST',
      `${path}/rotate`,
      {},
    )
    props.onRotated({ text: answer.signingSecret, until: answer.previousSecretUntil })
  }
  const remove = async () => {
    await api.call('DELETE', path)
    location.hash = '#/webhooks'
  }
  const toggle = () => api.call('PATCH', path, { enabled: !endpoint.enabled })
  return (
    <div class="acts">
      <button
        type="button"
        class="btn main"
        disabled={busy || !endpoint.enabled}
        onClick={() => void run('A test event is queued.', () => api.call('POST', `${path}/test`))}
      >
        Send a test event
      </button>
      <ConfirmButton
        label="Rotate the secret"
        confirmLabel="Rotate: the old secret also signs for 24 hours"
        disabled={busy}
        onConfirm={() => void run('The secret was rotated.', rotate)}
      />
      <button
        type="button"
        class="btn"
        disabled={busy}
        onClick={() => void run(endpoint.enabled ? 'Disabled.' : 'Enabled.', toggle)}
      >
        {endpoint.enabled ? 'Disable' : 'Enable'}
      </button>
      <ConfirmButton
        label="Delete"
        confirmLabel="Delete permanently"
        disabled={busy}
        isDangerous
        onConfirm={() => void run('Deleted.', remove)}
      />
    </div>
  )
}

const NoDeliveries = ({ endpoint }: { endpoint: WebhookEndpoint }) => (
  <>
    <p class="muted gap">Nothing was sent yet. Send a test event above, or create an event:</p>
    <Commands
      text={`npx pohf trigger ${endpoint.events[0] === '*' ? 'credential.issued' : (endpoint.events[0] ?? '')} \\\n  --url ${location.origin}`}
      label="Command that creates an event"
    />
  </>
)

const RotatedSecretNote = ({ secret, onDone }: { secret: RotatedSecret; onDone: () => void }) => (
  <SecretNote secret={secret.text} label="Signing secret" onDone={onDone}>
    {secret.until === null
      ? 'The old secret is no longer used.'
      : `Until ${formatUtc(secret.until)} every delivery is signed with both secrets.`}
  </SecretNote>
)

const EndpointControls = (props: ActionProps & { readonly onRotated: (secret: RotatedSecret) => void }) => {
  const { api, path, endpoint, action } = props
  return (
    <section class="card pad" aria-labelledby="acts">
      <h2 class="h3" id="acts">
        Actions
      </h2>
      <EndpointActions {...props} />
      <RecoverForm
        endpoint={endpoint}
        busy={action.busy}
        onRecover={(since) =>
          void action.run('Missed events are being sent.', () =>
            api.call('POST', `${path}/recover`, { since }),
          )
        }
      />
    </section>
  )
}

const useEndpoint = (api: Api, id: string, { path, query }: { path: string; query: string }) => {
  const loaded = useQuery<EndpointData>(async () => {
    const [all, page] = await Promise.all([
      api.call<{ webhooks: WebhookEndpoint[] }>('GET', '/api/agents/webhooks'),
      api.call<Page>('GET', `${path}/deliveries${query}`),
    ])
    return { endpoint: all.webhooks.find((one) => one.id === id), page }
  }, `${id}${query}`)
  // While other deliveries are loading, the endpoint stays on the page, and so does the focus.
  const [last, setLast] = useState<WebhookEndpoint>()
  const endpoint = loaded.value ? loaded.value.endpoint : last
  if (endpoint !== last) setLast(endpoint)
  return { loaded, endpoint }
}

/** One endpoint: its health, its actions and its deliveries. */
export const EndpointView = ({ api, id }: { api: Api; id: string }) => {
  const [state, setState] = useState('')
  const [limit, setLimit] = useState(20)
  const [secret, setSecret] = useState<RotatedSecret>()
  const path = `/api/agents/webhooks/${encodeURIComponent(id)}`
  const query = `?limit=${limit}${state === '' ? '' : `&state=${state}`}`
  const { loaded, endpoint } = useEndpoint(api, id, { path, query })
  const action = useAction(loaded.refetch)
  const now = Date.now()
  const replay = (deliveryId: string) =>
    void action.run('The delivery is queued again.', () =>
      api.call('POST', `/api/agents/webhooks/deliveries/${encodeURIComponent(deliveryId)}/replay`),
    )
  return (
    <>
      <p class="small">
        <a href="#/webhooks">All endpoints</a>
      </p>
      {loaded.error ? <ErrorNote error={loaded.error} onRetry={loaded.refetch} /> : null}
      {!endpoint && loaded.slow ? <Skeleton /> : null}
      {endpoint ? (
        <>
          <h1 class="address">{endpoint.url}</h1>
          <p class="lead muted">
            <span class={`chip ${endpointTone(endpoint.state)}`}>{endpoint.state}</span>{' '}
            {endpointStatusText(endpoint, now)}
          </p>
          <ActionResult message={action.message} error={action.error} />
          {secret ? <RotatedSecretNote secret={secret} onDone={() => setSecret(undefined)} /> : null}
          <div class="two">
            <Health endpoint={endpoint} now={now} />
            <EndpointControls
              api={api}
              path={path}
              endpoint={endpoint}
              action={action}
              onRotated={setSecret}
            />
          </div>
          <Deliveries
            page={loaded.value?.page}
            state={state}
            busy={action.busy}
            now={now}
            onState={(chosen) => (setLimit(20), setState(chosen))}
            onMore={limit < 100 ? () => setLimit(100) : undefined}
            onReplay={replay}
            empty={<NoDeliveries endpoint={endpoint} />}
          />
        </>
      ) : null}
      {loaded.value && !endpoint ? <p class="lead">You have no webhook endpoint with this id.</p> : null}
    </>
  )
}
