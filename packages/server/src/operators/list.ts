import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction } from '../platform/db/db.ts'
import { listOperators } from './store.ts'

export const list = async (ctx: Ctx) =>
  inTransaction(ctx, 'system', async (tx) => {
    const rows = await listOperators(tx)
    return {
      operators: rows.map((row) => ({
        operatorId: row.operator_id,
        name: row.name,
        createdAt: row.created_at.toISOString(),
        revokedAt: row.revoked_at?.toISOString() ?? null,
      })),
    }
  })
