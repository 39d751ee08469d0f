import type { Person } from '../../platform/http/call.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { addPasskey, verifyMemberPasskey, refreshAssurance, type MembersDeps } from '../membership/enrol.ts'
import { requirePerson } from './login.ts'
import { boundToOf } from './passkey-options.ts'

/** Adds a further passkey: the best recovery when one is lost. */
export const passkeyAdd = async (deps: MembersDeps, { personId }: Person, credential: unknown) => {
  const passkey = await verifyMemberPasskey(deps, credential, boundToOf({ personId }))
  return inTransaction(deps.ctx, 'system', async (tx) => {
    await requirePerson(tx, personId)
    await addPasskey(tx, personId, passkey)
    await refreshAssurance(tx, personId)
    return { added: true as const }
  })
}
