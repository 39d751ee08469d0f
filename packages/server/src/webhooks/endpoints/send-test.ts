import type { Mode } from '@pohf/protocol'
import type { Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { envelopeOf } from '../../platform/queue/outbox.ts'
import { unknownEndpoint } from './describe.ts'
import { insertDeliveries } from '../delivery/store.ts'
import { bodyOf } from '../rules.ts'
import { findEndpointLocked, type EndpointKey } from './store.ts'

/** Queues a test event for one endpoint, whatever it subscribed to. It is sent once and not listed among events. */
export const queueTestEvent = async (
  tx: Tx,
  endpoint: EndpointKey & { readonly mode: Mode },
  reason: 'requested' | 'probe',
): Promise<{ deliveryId: string; eventId: string }> => {
  const { agentId, mode, endpointId } = endpoint
  const envelope = await envelopeOf(tx, {
    agentId,
    mode,
    type: 'endpoint.test',
    data: { endpointId, reason },
  })
  const kind = reason === 'probe' ? 'probe' : 'test'
  const delivery = { agentId, mode, endpointId, eventId: envelope.id, body: bodyOf(envelope), kind } as const
  const [deliveryId] = await insertDeliveries(tx, [delivery])
  if (deliveryId === undefined)
    throw new Error(
      `no delivery was inserted for test event ${envelope.id} to webhook endpoint ${endpointId} of agent ${agentId}`,
    )
  return { deliveryId, eventId: envelope.id }
}

export const endpointDisabledRefusal = () =>
  new Refusal('forbidden', {
    message:
      'The endpoint is disabled. Enable it with PATCH and {"enabled":true}, or with recover, which also sends the events that it missed.',
  })

export const sendTest = async (ctx: Ctx, agent: Agent, endpointId: string) =>
  inTransaction(ctx, agent.agentId, async (tx) => {
    const endpoint = await findEndpointLocked(tx, agent, endpointId)
    if (!endpoint) throw unknownEndpoint()
    if (endpoint.state !== 'enabled') throw endpointDisabledRefusal()
    return queueTestEvent(tx, { agentId: agent.agentId, mode: agent.mode, endpointId }, 'requested')
  })
