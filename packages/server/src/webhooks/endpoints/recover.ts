import { eventEnvelope } from '@pohf/protocol'
import type { Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction, readNow } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { listEvents } from '../../platform/queue/outbox.ts'
import type { Job } from '../../platform/queue/worker.ts'
import { unknownEndpoint } from './describe.ts'
import { updateRequestsShared } from '../delivery/shared/store.ts'
import { insertDeliveries, updateDeadRequeued } from '../delivery/store.ts'
import { checkEndpointLimit } from './register.ts'
import { bodyOf, isTooOldToRecover, isSubscribed, recoverDaysMax } from '../rules.ts'
import {
  findEndpointLocked,
  findRecovering,
  updateEndpointEnabled,
  updateRecoveryProgress,
  updateRecoveryStarted,
} from './store.ts'

type Recovery = { readonly webhookId: string; readonly since: string }

/**
 * Enables an endpoint if it is disabled, and lets the worker send every event since a time that it subscribed to and did
 * not acknowledge: dead deliveries, and events published while it was disabled.
 */
export const recover = async (ctx: Ctx, agent: Agent, { webhookId, since: text }: Recovery) => {
  const since = new Date(text)
  const key = { agentId: agent.agentId, endpointId: webhookId }
  return inTransaction(ctx, agent.agentId, async (tx) => {
    const endpoint = await findEndpointLocked(tx, agent, webhookId)
    if (!endpoint) throw unknownEndpoint()
    if (isTooOldToRecover(since, await readNow(tx)))
      throw new Refusal('validation_failed', {
        details: [
          {
            path: 'body.since',
            code: 'too_small',
            message: `must be at most ${recoverDaysMax} days ago; older events are at GET /api/agents/events`,
          },
        ],
      })
    if (endpoint.state === 'disabled') {
      await checkEndpointLimit(tx, agent.agentId)
      await updateEndpointEnabled(tx, key)
    }
    return { id: webhookId, recoveringSince: (await updateRecoveryStarted(tx, key, since)).toISOString() }
  })
}

/** Events that one step of a recovery processes. */
const stepMax = 200

/**
 * One step of one recovery: first the deliveries that died since its time, then the events since its time. It needs no
 * end time: new events are fanned out to the endpoint, which is enabled, and the unique key of a delivery prevents
 * duplicates.
 */
const recoverStep = async (ctx: Ctx): Promise<number> =>
  inTransaction(ctx, 'system', async (tx) => {
    const endpoint = await findRecovering(tx)
    if (!endpoint?.recover_since) return 0
    const key = { agentId: endpoint.agent_id, endpointId: endpoint.endpoint_id }
    const mode = endpoint.mode
    const requeued = await updateDeadRequeued(tx, key, { since: endpoint.recover_since, limit: stepMax })
    if (requeued > 0) {
      await updateRequestsShared(tx, key)
      return requeued
    }
    const found = await listEvents(tx, {
      agentId: key.agentId,
      mode,
      after: { at: endpoint.recover_at, eventId: endpoint.recover_event_id ?? '' },
      stableOnly: false,
      limit: stepMax,
    })
    const subscribed = found
      .map(({ envelope }) => eventEnvelope.parse(envelope))
      .filter((envelope) => isSubscribed(endpoint, envelope))
    await insertDeliveries(
      tx,
      subscribed.map((envelope) => ({ ...key, mode, eventId: envelope.id, body: bodyOf(envelope) })),
    )
    await updateRequestsShared(tx, key)
    await updateRecoveryProgress(tx, key, found.length < stepMax ? null : (found.at(-1)?.position ?? null))
    // At least one, so that the worker runs again: the next step, or the next endpoint.
    return found.length + 1
  })

export const recoveryJob = (ctx: Ctx): Job => ({
  name: 'webhook recovery',
  everyMs: 1_000,
  run: () => recoverStep(ctx),
})
