import type { AccountRole } from '@pohf/protocol'
import { inTransaction } from '../../platform/db/db.ts'
import type { AccountPerson } from '../../platform/http/call.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { requireOwner } from './require-owner.ts'
import { requireOtherOwner } from './require-other-owner.ts'
import { deleteInvitationsBy, findRole, updateRole } from './store.ts'

/** Changes a role. The next call of the person has it: neither session nor bearer contains a role. */
export const peopleChange = async (
  ctx: Ctx,
  caller: AccountPerson,
  { personId, role }: { readonly personId: string; readonly role: AccountRole },
) =>
  inTransaction(ctx, 'system', async (tx) => {
    const { accountId } = caller
    await requireOwner(tx, caller)
    if ((await findRole(tx, accountId, personId)) === undefined)
      throw new Refusal('not_found', { message: 'No such person is in the account.' })
    await requireOtherOwner(tx, accountId, { personId, role })
    await updateRole(tx, { accountId, personId, role })
    if (role !== 'owner') await deleteInvitationsBy(tx, accountId, personId)
    return { id: personId, role }
  })
