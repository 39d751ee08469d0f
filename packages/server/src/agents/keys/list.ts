import type { Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { listKeys } from '../store.ts'

export const keysList = async (ctx: Ctx, agent: Agent) =>
  inTransaction(ctx, agent.agentId, async (tx) => {
    const rows = await listKeys(tx, agent.agentId)
    return {
      keys: rows.map((row) => ({
        keyId: row.key_id,
        hint: row.hint,
        scopes: row.scopes,
        createdAt: row.created_at.toISOString(),
        expiresAt: row.expires_at?.toISOString() ?? null,
        revokedAt: row.revoked_at?.toISOString() ?? null,
        lastUsedAt: row.last_used_at?.toISOString() ?? null,
      })),
    }
  })
