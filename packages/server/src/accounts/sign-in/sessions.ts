import { inTransaction } from '../../platform/db/db.ts'
import type { AccountPerson } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { listSessions } from './store.ts'

export const sessions = async (ctx: Ctx, { personId, sessionId }: AccountPerson) =>
  inTransaction(ctx, 'system', async (tx) => {
    const rows = await listSessions(tx, personId)
    return {
      sessions: rows.map((row) => ({
        id: row.session_id,
        browser: row.browser,
        signedInBy: row.signed_in_by,
        createdAt: row.created_at.toISOString(),
        lastSeenAt: row.last_seen_at.toISOString(),
        expiresAt: row.expires_at.toISOString(),
        isThis: row.session_id === sessionId,
      })),
    }
  })
