import type { Operator } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { insertAudit, updateOperatorRevoked } from './store.ts'

export const revoke = async (ctx: Ctx, by: Operator, operatorId: string) =>
  inTransaction(ctx, 'system', async (tx) => {
    if (!(await updateOperatorRevoked(tx, operatorId))) throw new Refusal('not_found')
    await insertAudit(tx, {
      operatorId: by.operatorId,
      action: 'operator.revoke',
      target: operatorId,
      details: {},
    })
    return { operatorId, revoked: true as const }
  })
