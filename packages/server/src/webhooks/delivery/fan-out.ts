import { eventEnvelope } from '@pohf/protocol'
import type { Tx } from '../../platform/db/db.ts'
import type { OutboxRow } from '../../platform/queue/outbox.ts'
import { listQueued } from './shared/store.ts'
import { insertDeliveries, listEnabledEndpoints, type NewDelivery } from './store.ts'
import { bodyOf, isSubscribed } from '../rules.ts'

type Queueable = NewDelivery & { readonly url: string }

const keyOf = ({ agentId, endpointId, eventId }: Pick<NewDelivery, 'agentId' | 'endpointId' | 'eventId'>) =>
  `${agentId} ${endpointId} ${eventId}`

/**
 * Endpoints of one agent on one URL share one request for each event, or an agent could multiply its events at a URL
 * that is not its own. The delivery of the oldest endpoint is sent, and the others with it. The endpoints are locked, so
 * that no recovery queues the same event meanwhile.
 */
const shareRequests = async (tx: Tx, deliveries: readonly Queueable[]): Promise<NewDelivery[]> => {
  const groups = Map.groupBy(deliveries, ({ agentId, mode, url, eventId }) =>
    [agentId, mode, eventId, url].join(' '),
  )
  const shared = [...groups.values()].filter((group) => group.length > 1)
  const queued = new Set((await listQueued(tx, shared.flat())).map(keyOf))
  return [...groups.values()].flatMap((group) => {
    const [sent, ...others] = group.filter((delivery) => !queued.has(keyOf(delivery)))
    if (!sent) return []
    const deliveryId = tx.ids.make('dlv_')
    return [{ ...sent, deliveryId }, ...others.map((other) => ({ ...other, sentWith: deliveryId }))]
  })
}

/** Queues published events for every endpoint that subscribed to them. Idempotent. */
export const fanOut = async (tx: Tx, rows: readonly OutboxRow[]): Promise<void> => {
  const endpoints = await listEnabledEndpoints(
    tx,
    rows.map((row) => row.agentId),
  )
  const deliveries = rows.flatMap((row) => {
    const { envelope: stored } = row.payload as { envelope: unknown }
    const envelope = eventEnvelope.parse(stored)
    const mode = envelope.test ? ('test' as const) : ('live' as const)
    return endpoints
      .filter((endpoint) => endpoint.agent_id === row.agentId && endpoint.mode === mode)
      .filter((endpoint) => isSubscribed(endpoint, envelope))
      .map((endpoint) => ({
        agentId: row.agentId,
        mode,
        endpointId: endpoint.endpoint_id,
        url: endpoint.url,
        eventId: envelope.id,
        body: bodyOf(envelope),
        publishedAt: row.createdAt,
        trace: row.trace,
      }))
  })
  await insertDeliveries(tx, await shareRequests(tx, deliveries))
}
