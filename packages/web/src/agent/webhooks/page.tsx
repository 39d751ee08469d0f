import type { WebhookEndpoint } from '@pohf/protocol'
import { useState } from 'preact/hooks'
import { toApiError, type Api, type ApiError } from '../../shared/api/client.ts'
import { useQuery } from '../../shared/api/use-query.ts'
import { Skeleton, Commands, SecretNote, ErrorNote } from '../../shared/design/components.tsx'
import { PageHead } from '../../shared/design/page-head.tsx'
import { EndpointView } from './endpoint.tsx'
import { EventCatalogue } from './catalogue.tsx'
import { Sparkline } from './sparkline.tsx'
import { healthSummary, endpointsHeadline, endpointStatusText, endpointTone } from './messages.ts'

const addCommands = (origin: string): string => `export POHF_KEY=svc_test_…
npx pohf webhooks add https://hooks.example.com/pohf \\
  --events '*' --url ${origin}`
const listenCommands = (origin: string): string => `npx pohf listen --url ${origin} \\
  --forward-to http://127.0.0.1:4000/
npx pohf trigger credential.issued \\
  --url ${origin}`

const AddForm = ({ api, onAdded }: { api: Api; onAdded: (secret: string) => void }) => {
  const [url, setUrl] = useState('')
  const [events, setEvents] = useState('*')
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<ApiError>()
  const submit = async (event: Event) => {
    event.preventDefault()
    setBusy(true)
    setError(undefined)
    try {
      const names = events.split(/[\s,]+/).filter((name) => name !== '')
      const added = await api.call<{ signingSecret: string }>('POST', '/api/agents/webhooks', {
        url: url.trim(),
        events: names,
      })
      setUrl('')
      onAdded(added.signingSecret)
    } catch (error) {
      setError(toApiError(error))
    } finally {
      setBusy(false)
    }
  }
  return (
    <section class="card pad" aria-labelledby="add">
      <h2 class="h3" id="add">
        Add an endpoint
      </h2>
      <form class="paste" onSubmit={(event) => void submit(event)}>
        <label for="url">URL of your receiver</label>
        <input
          id="url"
          type="url"
          required
          maxLength={2_048}
          placeholder="https://hooks.example.com/pohf"
          value={url}
          onInput={(event) => setUrl(event.currentTarget.value)}
        />
        <label for="events">
          Events <span class="faint">names of the catalogue, or * for all</span>
        </label>
        <input
          id="events"
          required
          maxLength={2_000}
          value={events}
          onInput={(event) => setEvents(event.currentTarget.value)}
        />
        {error ? <ErrorNote error={error} /> : null}
        <p>
          <button class="btn main" type="submit" disabled={busy}>
            Add the endpoint
          </button>
        </p>
      </form>
    </section>
  )
}

const EndpointCard = ({ endpoint, now }: { endpoint: WebhookEndpoint; now: number }) => (
  <li class="card pad endpoint">
    <div>
      <span class={`chip ${endpointTone(endpoint.state)}`}>{endpoint.state}</span>
      <h2 class="h3 address">
        <a href={`#/webhooks/${endpoint.id}`}>{endpoint.url}</a>
      </h2>
      <p class="muted">{endpointStatusText(endpoint, now)}</p>
      <p class="small faint">
        {endpoint.events.join(', ')} · {healthSummary(endpoint)}
        {endpoint.waiting > 0 ? ` · ${endpoint.waiting} pending` : ''}
      </p>
    </div>
    <Sparkline endpoint={endpoint} now={now} />
  </li>
)

const ListView = ({ api }: { api: Api }) => {
  const loaded = useQuery(
    () => api.call<{ webhooks: WebhookEndpoint[] }>('GET', '/api/agents/webhooks'),
    'list',
  )
  const [secret, setSecret] = useState<string>()
  const now = Date.now()
  const endpoints = loaded.value?.webhooks
  return (
    <>
      <PageHead name="Webhooks" finding={endpoints ? endpointsHeadline(endpoints) : undefined}>
        Your receivers get events within seconds. <a href="#/webhooks/catalogue">All events, with examples</a>
      </PageHead>
      {loaded.error ? <ErrorNote error={loaded.error} onRetry={loaded.refetch} /> : null}
      {secret === undefined ? null : (
        <SecretNote secret={secret} label="Signing secret" onDone={() => setSecret(undefined)}>
          Your receiver verifies every delivery with it. The key is the bytes that the base64 text after
          whsec_ encodes.
        </SecretNote>
      )}
      {endpoints === undefined && loaded.slow ? <Skeleton /> : null}
      {endpoints && endpoints.length > 0 ? (
        <ul class="endpoints">
          {endpoints.map((endpoint) => (
            <EndpointCard key={endpoint.id} endpoint={endpoint} now={now} />
          ))}
        </ul>
      ) : null}
      {endpoints ? (
        <div class="two">
          <AddForm
            api={api}
            onAdded={(given) => {
              setSecret(given)
              loaded.refetch()
            }}
          />
          <section class="card pad" aria-labelledby="next">
            <h2 class="h3" id="next">
              {endpoints.length === 0 ? 'Or from the command line' : 'Try it on your machine'}
            </h2>
            {endpoints.length === 0 ? (
              <Commands text={addCommands(location.origin)} label="Commands that add an endpoint" />
            ) : null}
            <p class="muted gap">
              {endpoints.length === 0
                ? 'Without a public address, forward signed events to your machine:'
                : 'Forward signed events of a test key to a receiver on your machine, and create one:'}
            </p>
            <Commands text={listenCommands(location.origin)} label="Commands that forward events" />
          </section>
        </div>
      ) : null}
    </>
  )
}

/** Page "Webhooks": the endpoints, one of them with its deliveries, or the catalogue of events. */
export const WebhooksPage = ({ api, rest }: { api: Api; rest: readonly string[] }) => {
  const [id] = rest
  if (id === undefined) return <ListView api={api} />
  return id === 'catalogue' ? <EventCatalogue api={api} /> : <EndpointView key={id} api={api} id={id} />
}
