import { apiVersion, eventEnvelope, events } from '../../../packages/protocol/src/index.ts'
import { fieldsOf } from './fields.ts'
import { generatedNote, tableOf, type GeneratedFile } from './markdown.ts'

type EventEntry = (typeof events)[keyof typeof events]

const rowOf = ([name, { summary, data }]: [string, EventEntry]): string[] => [
  `\`${name}\``,
  fieldsOf(data)
    .map(([field, type]) => `${field}: ${type}`)
    .join('<br>'),
  summary,
]

const eventsPage = (): string => {
  const entries = Object.entries<EventEntry>(events)
  const groups = Map.groupBy(entries, ([name]) => name.slice(0, name.indexOf('.')))
  const head = ['Event', 'Data', 'When']
  return `${generatedNote}

# Events

Webhooks deliver these events, and \`GET /api/agents/events\` lists them. See the [guide](../guides/webhooks.md) for
endpoints, signatures and retries. \`GET /api/events/catalog\` has the same list with a JSON Schema and an example for
each event.

Every event has this envelope. \`apiVersion\` is \`${apiVersion}\` today.

${tableOf(['Field', 'Type'], fieldsOf(eventEnvelope))}

There are ${entries.length} events. Names are only ever added.

${[...groups].map(([group, rows]) => `## ${group}\n\n${tableOf(head, rows.map(rowOf))}`).join('\n\n')}
`
}

export const eventFiles = (): GeneratedFile[] => [['docs/reference/events.md', eventsPage()]]
