import type { AccountRole } from '@pohf/protocol'
import type { Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { leavesNoOwner } from '../rules.ts'
import { listPeople } from './store.ts'

type Change = { readonly personId: string; readonly role: AccountRole | undefined }

/** Refuses a change that would leave the account without an owner. The caller has locked the account. */
export const requireOtherOwner = async (tx: Tx, accountId: string, change: Change): Promise<void> => {
  const owners = (await listPeople(tx, accountId)).filter((person) => person.role === 'owner')
  if (
    leavesNoOwner(
      owners.map((owner) => owner.person_id),
      change,
    )
  )
    throw new Refusal('forbidden', {
      message: 'The account would have no owner. Make somebody else an owner first.',
    })
}
