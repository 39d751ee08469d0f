import { inTransaction } from '../../platform/db/db.ts'
import type { Operator } from '../../platform/http/call.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { insertAudit } from '../store.ts'
import { deleteSession } from './store.ts'

/** Ends a session of the caller. It needs no recent sign-in: an operator who sees a strange session ends it at once. */
export const sessionEnd = async (ctx: Ctx, { operatorId }: Operator, sessionId: string) =>
  inTransaction(ctx, 'system', async (tx) => {
    if (!(await deleteSession(tx, operatorId, sessionId)))
      throw new Refusal('not_found', { message: 'You have no such session.' })
    await insertAudit(tx, { operatorId, action: 'operator.session_end', target: sessionId, details: {} })
    return { id: sessionId, ended: true as const }
  })
