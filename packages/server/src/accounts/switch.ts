import { inTransaction } from '../platform/db/db.ts'
import type { AccountPerson } from '../platform/http/call.ts'
import { Refusal } from '../platform/http/errors.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { updateSessionAccount } from './sign-in/store.ts'
import { findRole } from './people/store.ts'

/** Changes the session to another account of its person. */
export const switchAccount = async (ctx: Ctx, { sessionId, personId }: AccountPerson, accountId: string) =>
  inTransaction(ctx, 'system', async (tx) => {
    const role = await findRole(tx, accountId, personId)
    if (role === undefined) throw new Refusal('not_found', { message: 'You are in no such account.' })
    await updateSessionAccount(tx, sessionId, accountId)
    return { accountId, role }
  })
