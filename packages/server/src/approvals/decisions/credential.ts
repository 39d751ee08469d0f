import type { AttendedDecision } from '../../credentials/index.ts'
import type { Session } from '../../sessions/index.ts'
import { decisionReferenceOf } from '../rules.ts'
import type { Decision, OwnApproval } from './facts.ts'

const secondsOf = (date: Date): number => Math.floor(date.getTime() / 1_000)

type SignedDecision = {
  readonly decision: Decision
  readonly session: Session
  /** Undefined for a simulated approver. */
  readonly memberId: string | undefined
  readonly enrolledBy: string
  /** When the passkey that signed was registered. */
  readonly passkeyCreatedAt: Date
}

/** What the credential of a decision says. */
export const attendedDecisionOf = (own: OwnApproval, signed: SignedDecision): AttendedDecision => {
  const { key, turn, approval, view, viewHash, now } = own
  const { decision, session, memberId, enrolledBy, passkeyCreatedAt } = signed
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
    },
    approver: {
      ref: turn.approver_id,
      enrolled_by: enrolledBy,
      user_verification: true,
      key_age: Math.max(0, secondsOf(now) - secondsOf(passkeyCreatedAt)),
    },
  }
}
