import { inTransaction } from '../../platform/db/db.ts'
import type { AccountPerson } from '../../platform/http/call.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { deleteSession } from './store.ts'

/** Ends a session of the caller. It needs no recent sign-in: a person who sees a strange session ends it at once. */
export const sessionEnd = async (ctx: Ctx, { personId }: AccountPerson, id: string) =>
  inTransaction(ctx, 'system', async (tx) => {
    if (!(await deleteSession(tx, personId, id)))
      throw new Refusal('not_found', { message: 'You have no such session.' })
    return { id, ended: true as const }
  })
