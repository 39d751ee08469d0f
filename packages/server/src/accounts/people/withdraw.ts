import { inTransaction } from '../../platform/db/db.ts'
import type { AccountPerson } from '../../platform/http/call.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { requireOwner } from './require-owner.ts'
import { deleteInvitation } from './store.ts'

/** Withdraws an invitation that nobody accepted yet. */
export const withdraw = async (ctx: Ctx, person: AccountPerson, id: string) =>
  inTransaction(ctx, 'system', async (tx) => {
    await requireOwner(tx, person)
    if (!(await deleteInvitation(tx, person.accountId, id)))
      throw new Refusal('not_found', { message: 'There is no such invitation.' })
    return { id, removed: true as const }
  })
