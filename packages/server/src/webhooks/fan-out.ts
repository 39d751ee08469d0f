import { eventEnvelope } from '@pohf/protocol'
import type { Tx } from '../platform/db.ts'
import type { OutboxRow } from '../platform/outbox.ts'
import { bodyOf } from './rules.ts'
import { insertDeliveries, listEndpointsFor } from './store.ts'

/** Queues a published event for every endpoint that wants it. Run again, it adds nothing. */
export const fanOut = async (tx: Tx, row: OutboxRow): Promise<void> => {
  const { envelope: stored } = row.payload as { envelope: unknown }
  const envelope = eventEnvelope.parse(stored)
  const event = {
    agentId: row.agentId,
    mode: envelope.test ? 'test' : 'live',
    type: envelope.type,
    eventId: envelope.id,
    body: bodyOf(envelope),
  } as const
  const endpointIds = await listEndpointsFor(tx, event)
  if (endpointIds.length > 0) await insertDeliveries(tx, event, endpointIds)
}
