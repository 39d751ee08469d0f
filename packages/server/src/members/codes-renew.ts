import { inTransaction } from '../platform/db.ts'
import { Refusal } from '../platform/errors.ts'
import type { MembersDeps } from './enrol.ts'
import { requireOwnPage, requireSignedIn, type FromPage } from './login.ts'
import { boundToOf } from './passkey-options.ts'
import { makeRecoveryCodes } from './recovery-codes.ts'
import { deleteRecoveryCodes, lockPerson } from './store.ts'
import { withPasskey } from './use-passkey.ts'

/**
 * New recovery codes in place of the old ones, shown once. The passkey is asked for again: a login alone, which may come
 * from a code that somebody found, must not shut its owner out.
 */
export const codesRenew = async (deps: MembersDeps, page: FromPage, credential: unknown) => {
  requireOwnPage(deps.ctx, page)
  const personId = await inTransaction(deps.ctx, 'system', (tx) => requireSignedIn(tx, page))
  const boundTo = boundToOf({ personId })
  return withPasskey(deps, { credential, purpose: 'confirm', boundTo }, async (tx, owner) => {
    if (owner !== personId) throw new Refusal('passkey_refused')
    await lockPerson(tx, personId)
    await deleteRecoveryCodes(tx, personId)
    return { recoveryCodes: await makeRecoveryCodes(tx, personId) }
  })
}
