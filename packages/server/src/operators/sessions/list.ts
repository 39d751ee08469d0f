import { inTransaction } from '../../platform/db/db.ts'
import type { Operator } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { listSessions } from './store.ts'

export const sessionsList = async (ctx: Ctx, { operatorId, session }: Operator) =>
  inTransaction(ctx, 'system', async (tx) => {
    const rows = await listSessions(tx, operatorId)
    return {
      sessions: rows.map((row) => ({
        id: row.session_id,
        browser: row.browser,
        createdAt: row.created_at.toISOString(),
        lastSeenAt: row.last_seen_at.toISOString(),
        expiresAt: row.expires_at.toISOString(),
        isThis: row.session_id === session?.sessionId,
      })),
    }
  })
