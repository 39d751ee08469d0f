import { inTransaction } from '../platform/db.ts'
import { addPasskey, judgeNew, refreshStanding, type MembersDeps } from './enrol.ts'
import { requireOwnPage, requireSignedIn, type FromPage } from './login.ts'
import { boundToOf } from './passkey-options.ts'
import { lockPerson } from './store.ts'

/** A further passkey: the best way back in when one is lost. */
export const passkeyAdd = async (deps: MembersDeps, page: FromPage, credential: unknown) => {
  requireOwnPage(deps.ctx, page)
  const personId = await inTransaction(deps.ctx, 'system', (tx) => requireSignedIn(tx, page))
  const passkey = await judgeNew(deps, credential, boundToOf({ personId }))
  return inTransaction(deps.ctx, 'system', async (tx) => {
    await lockPerson(tx, personId)
    await addPasskey(tx, personId, passkey)
    await refreshStanding(tx, personId)
    return { added: true as const }
  })
}
