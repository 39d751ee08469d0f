import { useState } from 'preact/hooks'
import type { Api } from '../../shared/api/client.ts'
import { useQuery } from '../../shared/api/use-query.ts'
import { ErrorNote, Skeleton } from '../../shared/design/components.tsx'
import { pluralize } from '../../shared/design/time.ts'
import type { EventTypes } from '../wire.ts'

type EventEntry = EventTypes['events'][number]

const EventItem = ({ event }: { event: EventEntry }) => (
  <li class="delivery">
    <details>
      <summary>
        <b>{event.type}</b>
        <span class="muted">{event.summary}</span>
      </summary>
      <div class="inside">
        <pre tabIndex={0} aria-label={`Data of ${event.type}`}>
          {JSON.stringify(event.example, null, 2)}
        </pre>
      </div>
    </details>
  </li>
)

/** Every event that the service sends, with an example of its data. */
export const EventCatalogue = ({ api }: { api: Api }) => {
  const loaded = useQuery(() => api.call<EventTypes>('GET', '/api/events/catalog'), 'catalogue', 600_000)
  const [text, setText] = useState('')
  const wanted = text.trim().toLowerCase()
  const events = loaded.value?.events.filter(
    ({ type, summary }) => wanted === '' || `${type} ${summary}`.toLowerCase().includes(wanted),
  )
  return (
    <>
      <p class="small">
        <a href="#/webhooks">All endpoints</a>
      </p>
      <h1>Events</h1>
      <p class="lead muted" role="status">
        {events
          ? `${pluralize(events.length, 'event')}. An event carries ids and states, never a recording.`
          : ' '}
      </p>
      {loaded.error ? <ErrorNote error={loaded.error} onRetry={loaded.refetch} /> : null}
      {!events && loaded.slow ? <Skeleton /> : null}
      {events ? (
        <section class="card pad" aria-label="Events">
          <div class="paste">
            <label for="event-search">Search</label>
            <input
              id="event-search"
              type="search"
              maxLength={100}
              value={text}
              onInput={(event) => setText(event.currentTarget.value)}
            />
          </div>
          <ul class="plainlist">
            {events.map((event) => (
              <EventItem key={event.type} event={event} />
            ))}
          </ul>
          {events.length === 0 ? <p class="muted gap">No event has this text.</p> : null}
        </section>
      ) : null}
    </>
  )
}
