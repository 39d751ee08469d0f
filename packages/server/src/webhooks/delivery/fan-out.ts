import { eventEnvelope } from '@pohf/protocol'
import type { Tx } from '../../platform/db/db.ts'
import type { OutboxRow } from '../../platform/queue/outbox.ts'
import { insertDeliveries, listEnabledEndpoints } from './store.ts'
import { bodyOf, isSubscribed } from '../rules.ts'

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
        eventId: envelope.id,
        body: bodyOf(envelope),
      }))
  })
  await insertDeliveries(tx, deliveries)
}
