import type { Person } from '../../platform/http/call.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { MembersDeps } from '../membership/enrol.ts'
import { requirePerson } from './login.ts'
import { boundToOf } from './passkey-options.ts'
import { makeRecoveryCodes } from './recovery-codes.ts'
import { deleteRecoveryCodes } from './store.ts'
import { withPasskey } from './use-passkey.ts'

/**
 * Replaces the recovery codes; the new ones are shown once. Requires the passkey again: a login alone, which may
 * come from a stolen code, must not lock the owner out.
 */
export const codesRenew = async (deps: MembersDeps, { personId }: Person, credential: unknown) => {
  const boundTo = boundToOf({ personId })
  return withPasskey(deps, { credential, purpose: 'confirm', boundTo }, async (tx, owner) => {
    if (owner !== personId) throw new Refusal('passkey_refused')
    await requirePerson(tx, personId)
    await deleteRecoveryCodes(tx, personId)
    return { recoveryCodes: await makeRecoveryCodes(tx, personId) }
  })
}
