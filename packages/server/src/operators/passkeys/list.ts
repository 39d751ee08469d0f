import { inTransaction } from '../../platform/db/db.ts'
import type { Operator } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { listPasskeys } from './store.ts'

export const passkeysList = async (ctx: Ctx, { operatorId }: Pick<Operator, 'operatorId'>) =>
  inTransaction(ctx, 'system', async (tx) => {
    const rows = await listPasskeys(tx, operatorId)
    return {
      passkeys: rows.map((row) => ({
        id: row.passkey_id,
        name: row.name,
        createdAt: row.created_at.toISOString(),
        lastUsedAt: row.used_at?.toISOString() ?? null,
      })),
    }
  })
