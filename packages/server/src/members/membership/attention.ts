import { reasonText } from '@pohf/protocol/reasons'
import type { Person } from '../../platform/http/call.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { Refusal, type Detail } from '../../platform/http/errors.ts'
import { publish } from '../../platform/queue/outbox.ts'
import { findSession, updateSessionMember, type Session, type SessionKey } from '../../sessions/index.ts'
import type { MembersDeps } from './enrol.ts'
import { requireInvited } from './invitation.ts'
import { attentionChallenge } from '../rules.ts'
import {
  insertAttentionCheck,
  updateMemberCheckPassed,
  updateMemberCheckFailed,
  type MemberRow,
} from './store.ts'

type Input = { readonly token: string; readonly sessionId: string }

const requireConsent = (member: MemberRow, personId: string): void => {
  if (member.personId === personId && (member.status === 'consented' || member.status === 'enrolled')) return
  throw new Refusal('member_not_enrolled', {
    message: 'Give consent before the attention check.',
    details: [{ path: 'body.token', code: 'consent_missing', message: 'the person has not given consent' }],
  })
}

/** Refuses a session that is not this member's check, or is expired or not ready, in this order. */
const requireOwnCheck = (session: Session | undefined, challenges: readonly string[]): Session => {
  if (!session || session.challenge === null || !challenges.includes(session.challenge))
    throw new Refusal('not_found', { message: 'This attention check belongs to another invitation.' })
  if (session.status === 'expired') throw new Refusal('session_expired')
  if (session.status === 'open' || session.status === 'closed')
    throw new Refusal('session_not_ready', { headers: { 'retry-after': '1' } })
  return session
}

const recordCheck = async (
  tx: Tx,
  member: MemberRow,
  key: SessionKey,
  session: Session,
): Promise<Detail[] | undefined> => {
  if (!(await insertAttentionCheck(tx, member, session.sessionId)))
    return [
      { path: 'body.sessionId', code: 'session_used', message: 'this attention check was already used' },
    ]
  await updateSessionMember(tx, { ...key, at: session.at }, member.memberId)
  if (session.verified !== true) {
    await updateMemberCheckFailed(tx, member)
    return session.reasons.map((reason) => ({
      path: 'session',
      code: reason,
      message: reasonText(reason),
    }))
  }
  await updateMemberCheckPassed(tx, member, {
    sessionId: session.sessionId,
    quality: session.quality ?? 0,
    scoring: session.scoring ?? '',
    at: session.endedAt ?? session.at,
  })
  if (member.status !== 'enrolled')
    await publish(tx, {
      agentId: member.agentId,
      mode: member.mode,
      subject: member.memberId,
      type: 'member.enrolled',
      data: { memberId: member.memberId, uniqueness: member.uniqueness },
    })
  return undefined
}

/** Counts a finished check for the member, once. A check that does not show a human is recorded and refused. */
export const attention = async (
  { ctx, platformAgentOf }: MembersDeps,
  { personId }: Person,
  input: Input,
) => {
  const { member, session, faults } = await inTransaction(ctx, 'system', async (tx) => {
    const found = await requireInvited(tx, input.token)
    requireConsent(found, personId)
    const key = { agentId: platformAgentOf(found.mode), mode: found.mode, sessionId: input.sessionId }
    const check = requireOwnCheck(
      await findSession(tx, key),
      ctx.secrets.accepted('attention').map((key) => attentionChallenge(key, found)),
    )
    return { member: found, session: check, faults: await recordCheck(tx, found, key, check) }
  })
  if (faults) throw new Refusal('session_rejected', { details: faults })
  return { status: 'enrolled' as const, quality: session.quality ?? 0, uniqueness: member.uniqueness }
}
