import type { Operator } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { deletePasskeysOf } from './passkeys/store.ts'
import { deleteSessionsOf } from './sessions/store.ts'
import { insertAudit, updateOperatorRevoked } from './store.ts'

/** Revokes an operator: key, passkeys, sessions and bearers end together. */
export const revoke = async (ctx: Ctx, by: Operator, operatorId: string) =>
  inTransaction(ctx, 'system', async (tx) => {
    if (!(await updateOperatorRevoked(tx, operatorId))) throw new Refusal('not_found')
    await deletePasskeysOf(tx, operatorId)
    await deleteSessionsOf(tx, operatorId)
    await insertAudit(tx, {
      operatorId: by.operatorId,
      action: 'operator.revoke',
      target: operatorId,
      details: {},
    })
    return { operatorId, revoked: true as const }
  })
