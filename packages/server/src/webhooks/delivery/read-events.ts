import type { Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { resumeTimeOf } from '../../platform/db/clock.ts'
import { inTransaction, readNow } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { listEvents } from '../../platform/queue/outbox.ts'
import { readCursor, initialPosition, writeCursor } from '../rules.ts'

type Query = {
  readonly since?: Date | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}
const defaultLimit = 100

/** The agent's events in order. A reader that continues with nextCursor misses none, not even those that commit late. */
export const readEvents = async (ctx: Ctx, agent: Agent, query: Query) => {
  const limit = query.limit ?? defaultLimit
  const cursor = query.cursor === undefined ? undefined : readCursor(query.cursor)
  if (query.cursor !== undefined && !cursor)
    throw new Refusal('validation_failed', {
      details: [{ path: 'query.cursor', code: 'invalid', message: 'must be a nextCursor of this endpoint' }],
    })
  return inTransaction(ctx, agent.agentId, async (tx) => {
    const after = cursor
      ? { ...cursor, at: await resumeTimeOf(tx, cursor.at) }
      : initialPosition(query.since, await readNow(tx))
    const { agentId, mode } = agent
    const found = await listEvents(tx, { agentId, mode, after, stableOnly: true, limit: limit + 1 })
    const page = found.slice(0, limit)
    return {
      events: page.map(({ envelope }) => envelope),
      nextCursor: writeCursor(page.at(-1)?.position ?? after),
      hasMore: found.length > limit,
    }
  })
}
