import { inTransaction } from '../../platform/db/db.ts'
import type { Operator } from '../../platform/http/call.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { deleteSessionsOfPasskey } from '../sessions/store.ts'
import { insertAudit } from '../store.ts'
import { deletePasskey } from './store.ts'

type Removal = { readonly operatorId: string; readonly passkeyId: string }

/** Removes a passkey of an operator, and ends the sessions that it opened: the finder of a lost device may be signed in. */
export const removePasskey = async (ctx: Ctx, by: string, { operatorId, passkeyId }: Removal) =>
  inTransaction(ctx, 'system', async (tx) => {
    if (!(await deletePasskey(tx, operatorId, passkeyId)))
      throw new Refusal('not_found', { message: 'This operator has no such passkey.' })
    await deleteSessionsOfPasskey(tx, passkeyId)
    await insertAudit(tx, {
      operatorId: by,
      action: 'operator.passkey_remove',
      target: passkeyId,
      details: { operatorId },
    })
    return { id: passkeyId, removed: true as const }
  })

export const passkeyRemove = async (ctx: Ctx, { operatorId }: Operator, passkeyId: string) =>
  removePasskey(ctx, operatorId, { operatorId, passkeyId })
