import type { Tx } from '../../platform/db/db.ts'
import type { AccountPerson } from '../../platform/http/call.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { lockAccount } from '../store.ts'
import { findRole } from './store.ts'

/**
 * Locks the account and reads the role of the caller again, so that a person who was removed or demoted after authentication
 * changes nothing. Requires a recent sign-in.
 */
export const requireOwner = async (
  tx: Tx,
  { accountId, personId, isRecent }: AccountPerson,
): Promise<void> => {
  await lockAccount(tx, accountId)
  if ((await findRole(tx, accountId, personId)) !== 'owner')
    throw new Refusal('forbidden', { message: 'Only an owner of the account may do this.' })
  if (!isRecent) throw new Refusal('sign_in_again')
}
