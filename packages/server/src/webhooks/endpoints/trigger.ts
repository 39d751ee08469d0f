import { events, type EventType } from '@pohf/protocol'
import type { Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { publish } from '../../platform/queue/outbox.ts'

/** Publishes the example of an event. Only in test mode, so that no live receiver acts on it. */
export const trigger = async (ctx: Ctx, agent: Agent, type: EventType) => {
  if (agent.mode !== 'test')
    throw new Refusal('forbidden', {
      message: 'Example events require a test key. To try a live endpoint, send a test event to it.',
    })
  return inTransaction(ctx, agent.agentId, async (tx) => {
    const { agentId, mode } = agent
    const data = events[type].data.parse(events[type].example)
    const eventId = await publish(tx, { agentId, mode, type, subject: `example of ${type}`, data })
    return { eventId, type }
  })
}
