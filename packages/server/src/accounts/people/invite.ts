import type { AccountRole } from '@pohf/protocol'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { countMail } from '../../platform/db/mails.ts'
import type { AccountPerson } from '../../platform/http/call.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { normaliseEmail } from '../../platform/net/mail-address.ts'
import type { AccountsDeps } from '../deps.ts'
import { mailInvitation } from '../mails.ts'
import { invitationsPerDayMax, peopleMax } from '../rules.ts'
import { findAccount } from '../store.ts'
import { requireOwner } from './require-owner.ts'
import { listInvitations, listPeople, upsertInvitation } from './store.ts'

const requirePlace = async (tx: Tx, accountId: string, email: string): Promise<void> => {
  const people = await listPeople(tx, accountId)
  if (people.some((person) => person.email === email))
    throw new Refusal('forbidden', { message: 'This person is in the account already.' })
  const invited = (await listInvitations(tx, accountId)).filter((invitation) => invitation.email !== email)
  if (people.length + invited.length >= peopleMax)
    throw new Refusal('forbidden', {
      message: `An account has at most ${peopleMax} people and invitations. Remove one first.`,
    })
}

/** An account cannot send mails to strangers without end. */
const countInvitation = async (tx: Tx, accountId: string): Promise<void> => {
  const count = { recipientTag: accountId, kind: 'console_invitations_of', perDay: invitationsPerDayMax }
  if (await countMail(tx, count)) return
  throw new Refusal('rate_limited', {
    message: `An account sends at most ${invitationsPerDayMax} invitations a day. Try again tomorrow (UTC).`,
    headers: { 'retry-after': '3600' },
  })
}

/** Invites an address. The answer is the same whether the address has an account elsewhere or not. */
export const peopleInvite = async (
  deps: AccountsDeps,
  person: AccountPerson,
  input: { readonly email: string; readonly role: AccountRole },
) =>
  inTransaction(deps.ctx, 'system', async (tx) => {
    const { accountId } = person
    const email = normaliseEmail(input.email)
    await requireOwner(tx, person)
    await requirePlace(tx, accountId, email)
    await countInvitation(tx, accountId)
    const invitation = { accountId, email, role: input.role, invitedBy: person.personId }
    const { invitationId, expiresAt } = await upsertInvitation(tx, {
      ...invitation,
      invitationId: tx.ids.make('ivt_'),
    })
    const account = await findAccount(tx, accountId)
    if (!account) throw new Error(`account ${accountId} not found while inviting`)
    // A mailbox that has reached its daily limit gets no mail: the person finds the invitation when they sign in.
    await mailInvitation(tx, deps, email, { name: account.name, inviter: person.email, role: input.role })
    return { id: invitationId, email, role: input.role, expiresAt: expiresAt.toISOString() }
  })
