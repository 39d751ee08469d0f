import type { WebhookDelivery } from '@pohf/protocol'
import type { Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { unknownEndpoint } from '../endpoints/describe.ts'
import { explainAttempt } from '../rules.ts'
import { findEndpoint } from '../endpoints/store.ts'
import { listAttempts, listDeliveries } from './log/store.ts'

type Query = {
  readonly webhookId: string
  readonly state?: WebhookDelivery['state'] | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}
const defaultLimit = 20

/** Newest first, so the cursor is the id of the last event of the page before. */
const readPosition = (cursor: string | undefined): string | undefined => {
  if (cursor === undefined || /^evt_[a-z0-9]{1,64}$/.test(cursor)) return cursor
  throw new Refusal('validation_failed', {
    details: [{ path: 'query.cursor', code: 'invalid', message: 'must be a nextCursor of this endpoint' }],
  })
}

/** The deliveries of an endpoint with their attempts, and why the failed ones failed. */
export const deliveries = async (ctx: Ctx, agent: Agent, query: Query) => {
  const limit = query.limit ?? defaultLimit
  const before = readPosition(query.cursor)
  return inTransaction(ctx, agent.agentId, async (tx) => {
    if (!(await findEndpoint(tx, agent, query.webhookId))) throw unknownEndpoint()
    const found = await listDeliveries(tx, agent, {
      endpointId: query.webhookId,
      state: query.state,
      before,
      limit: limit + 1,
    })
    const page = found.slice(0, limit)
    const attempts = await listAttempts(tx, agent.agentId, page)
    const hasMore = found.length > limit
    return {
      deliveries: page.map((row) => ({
        id: row.delivery_id,
        eventId: row.event_id,
        type: row.type,
        state: row.state,
        createdAt: row.created_at.toISOString(),
        settledAt: row.settled_at?.toISOString() ?? null,
        nextAttemptAt: row.state === 'pending' ? row.due_at.toISOString() : null,
        attempts: attempts
          .filter((attempt) => attempt.delivery_id === row.delivery_id)
          .map((attempt) => ({
            attempt: attempt.attempt,
            at: attempt.at.toISOString(),
            outcome: attempt.outcome,
            status: attempt.status,
            fault: attempt.fault,
            durationMs: attempt.duration_ms,
            why: explainAttempt(attempt),
          })),
      })),
      nextCursor: hasMore ? (page.at(-1)?.event_id ?? null) : null,
      hasMore,
    }
  })
}
