import type { Person } from '../../platform/http/call.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { publish } from '../../platform/queue/outbox.ts'
import type { MembersDeps } from './enrol.ts'
import { requirePerson } from '../people/login.ts'
import { consentVersion } from '../rules.ts'
import { insertConsent, listMemberships, updateMemberWithdrawn } from './store.ts'

type Input = { readonly memberId: string; readonly language: 'en' | 'de' }

/** Withdraws the consent for one agent: from now on it gets no personhood credential of this person. */
export const withdraw = async ({ ctx }: MembersDeps, { personId }: Person, input: Input) =>
  inTransaction(ctx, 'system', async (tx) => {
    await requirePerson(tx, personId)
    const member = (await listMemberships(tx, personId)).find((one) => one.memberId === input.memberId)
    if (!member?.consentRef) throw new Refusal('not_found', { message: 'You have no such membership.' })
    if (member.status === 'withdrawn') return { status: 'withdrawn' as const }
    const { language } = input
    await insertConsent(tx, member.consentRef, { act: 'withdrawn', version: consentVersion, language })
    await updateMemberWithdrawn(tx, member)
    const { agentId, mode, memberId } = member
    await publish(tx, { agentId, mode, subject: memberId, type: 'member.withdrawn', data: { memberId } })
    return { status: 'withdrawn' as const }
  })
