import type { AttendedDecision } from '../../credentials/index.ts'
import type { VerifiedAssertion } from '../../members/index.ts'
import type { Session } from '../../sessions/index.ts'
import { decisionReferenceOf } from '../rules.ts'
import { inViewSecondsOf, type Decision, type OwnApproval } from './facts.ts'

const secondsOf = (date: Date): number => Math.floor(date.getTime() / 1_000)

/** The passkey that signed. */
type SigningKey = Pick<VerifiedAssertion, 'key' | 'model' | 'createdAt'>

type SignedDecision = {
  readonly decision: Decision
  readonly session: Session
  /** Undefined for a simulated approver. */
  readonly memberId: string | undefined
  readonly passkey: SigningKey
}

/** An approver is enrolled once an owner has invited them and they have consented. */
const enrolledAt = ({ turn, consentedAt }: OwnApproval): Date =>
  consentedAt !== null && consentedAt > turn.invited_at ? consentedAt : turn.invited_at

/** What the credential of a decision says. */
export const attendedDecisionOf = (own: OwnApproval, signed: SignedDecision): AttendedDecision => {
  const { key, turn, approval, view, viewHash, now } = own
  const { decision, session, memberId, passkey } = signed
  return {
    agentId: key.agentId,
    mode: key.mode,
    reference: decisionReferenceOf(key.approvalId, turn.approver_id),
    session: { ...session, memberRef: memberId ?? session.memberRef },
    memberId,
    approval: {
      id: key.approvalId,
      type: approval.type,
      envelope_hash: approval.envelopeHash,
      view_hash: viewHash,
      view: view.view,
      decision,
      decided_at: secondsOf(now),
      consume_by: secondsOf(approval.consumeBy),
      ...(session.counted ? { shown_seconds: inViewSecondsOf(session) } : {}),
    },
    approver: {
      ref: turn.approver_id,
      user_verification: true,
      key_age: Math.max(0, secondsOf(now) - secondsOf(passkey.createdAt)),
      key: passkey.key,
      ...(passkey.key === 'device' && passkey.model !== undefined ? { model: passkey.model } : {}),
      enrolled: { by: turn.enrolled_by, way: turn.enrolled_way, at: secondsOf(enrolledAt(own)) },
      decided: approval.approved + (decision === 'approve' ? 1 : 0),
      needed: approval.quorum,
    },
  }
}
