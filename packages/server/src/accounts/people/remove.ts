import { inTransaction, type Tx } from '../../platform/db/db.ts'
import type { AccountPerson } from '../../platform/http/call.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { deleteSessionsIn } from '../sign-in/store.ts'
import { deletePasskeysOf } from '../passkeys/store.ts'
import { lockAccount } from '../store.ts'
import { requireOwner } from './require-owner.ts'
import { requireOtherOwner } from './require-other-owner.ts'
import {
  deleteInvitationsBy,
  deletePerson,
  deleteRole,
  findRole,
  listAccountsOf,
  lockPerson,
} from './store.ts'

/** Everybody may leave; only an owner removes others. */
const requireMayRemove = async (tx: Tx, caller: AccountPerson, personId: string): Promise<void> => {
  if (personId !== caller.personId) return requireOwner(tx, caller)
  if (!caller.isRecent) throw new Refusal('sign_in_again')
  await lockAccount(tx, caller.accountId)
}

/**
 * Removes a person from the account: their role, sessions and invitations. A person without any account is deleted with their
 * passkeys. API keys that they know stay valid until an owner revokes them.
 */
export const peopleRemove = async (ctx: Ctx, caller: AccountPerson, personId: string) =>
  inTransaction(ctx, 'system', async (tx) => {
    const { accountId } = caller
    await requireMayRemove(tx, caller, personId)
    if ((await findRole(tx, accountId, personId)) === undefined)
      throw new Refusal('not_found', { message: 'No such person is in the account.' })
    await requireOtherOwner(tx, accountId, { personId, role: undefined })
    await lockPerson(tx, personId)
    await deleteRole(tx, accountId, personId)
    await deleteSessionsIn(tx, accountId, personId)
    await deleteInvitationsBy(tx, accountId, personId)
    if ((await listAccountsOf(tx, personId)).length === 0) {
      await deletePasskeysOf(tx, personId)
      await deletePerson(tx, personId)
    }
    return { id: personId, removed: true as const }
  })
