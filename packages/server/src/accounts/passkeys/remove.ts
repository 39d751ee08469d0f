import { inTransaction } from '../../platform/db/db.ts'
import type { AccountPerson } from '../../platform/http/call.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { deletePasskeySessions } from '../sign-in/store.ts'
import { deletePasskey } from './store.ts'

/** Removes a passkey, and ends the person's other passkey sessions: one of them may be on the device that was lost. */
export const passkeyRemove = async (ctx: Ctx, person: AccountPerson, id: string) => {
  if (!person.isRecent) throw new Refusal('sign_in_again')
  return inTransaction(ctx, 'system', async (tx) => {
    if (!(await deletePasskey(tx, person.personId, id)))
      throw new Refusal('not_found', { message: 'You have no such passkey.' })
    await deletePasskeySessions(tx, person)
    return { id, removed: true as const }
  })
}
