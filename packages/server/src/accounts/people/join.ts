import { inTransaction, type Tx } from '../../platform/db/db.ts'
import type { AccountPerson } from '../../platform/http/call.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { accountsPerPersonMax } from '../rules.ts'
import { lockAccount } from '../store.ts'
import { consumeInvitation, insertRole, listAccountsOf, lockPerson } from './store.ts'

type InvitedPerson = { readonly personId: string; readonly email: string }

/** Takes a person into the account that invited their address. */
export const joinAccount = async (tx: Tx, { personId, email }: InvitedPerson, accountId: string) => {
  await lockAccount(tx, accountId)
  if (!(await lockPerson(tx, personId))) throw new Refusal('sign_in_required')
  if ((await listAccountsOf(tx, personId)).length >= accountsPerPersonMax)
    throw new Refusal('forbidden', { message: `A person is in at most ${accountsPerPersonMax} accounts.` })
  const role = await consumeInvitation(tx, accountId, email)
  if (role === undefined)
    throw new Refusal('not_found', { message: 'There is no such invitation, or it has expired.' })
  await insertRole(tx, { accountId, personId, role })
  return { accountId, role }
}

/** Accepts an invitation to the address of the caller. */
export const join = async (ctx: Ctx, person: AccountPerson, accountId: string) =>
  inTransaction(ctx, 'system', (tx) => joinAccount(tx, person, accountId))
