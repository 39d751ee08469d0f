import type { Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { endpointDisabledRefusal } from '../endpoints/send-test.ts'
import { findEndpointLocked } from '../endpoints/store.ts'
import { findDeliveryLocked, findEndpointOfDelivery, updateDeliveryReplayed } from './log/store.ts'

const unknownDelivery = () =>
  new Refusal('not_found', { message: 'You have no webhook delivery with this id.' })

/** Sends one delivery again, whatever its state: same id, same body, a new signature. */
export const replay = async (ctx: Ctx, agent: Agent, deliveryId: string) =>
  inTransaction(ctx, agent.agentId, async (tx) => {
    const endpointId = await findEndpointOfDelivery(tx, agent, deliveryId)
    // The lock order everywhere: endpoint, then delivery.
    const endpoint = endpointId === undefined ? undefined : await findEndpointLocked(tx, agent, endpointId)
    const delivery = await findDeliveryLocked(tx, agent, deliveryId)
    if (!endpoint || !delivery) throw unknownDelivery()
    if (endpoint.state !== 'enabled') throw endpointDisabledRefusal()
    // An attempt in progress is as good as a new one.
    if (!delivery.inProgress) await updateDeliveryReplayed(tx, agent.agentId, deliveryId)
    return { id: deliveryId, eventId: delivery.event_id, state: 'pending' as const }
  })
