import type { Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { tokenHashOf } from '../../platform/ops/tokens.ts'
import { findEnrolmentLink, findMember, type MemberRow } from './store.ts'

/** The member that a link invites. */
export const requireInvited = async (tx: Tx, token: string): Promise<MemberRow> => {
  const hash = tokenHashOf(tx.ids, 'inv_', token)
  const key = hash && (await findEnrolmentLink(tx, hash))
  const member = key && (await findMember(tx, key))
  if (!member)
    throw new Refusal('not_found', {
      message: 'This link is invalid or has expired. Ask the sender for a new one.',
    })
  return member
}
