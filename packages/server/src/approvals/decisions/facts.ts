import type { Mode } from '@pohf/protocol'
import { reasonText } from '@pohf/protocol/reasons'
import {
  approvalView,
  refusedField,
  viewHash,
  type ApprovalView,
  type Envelope,
} from '@pohf/verify/approvals'
import { findCompany, listMemberships, listOwnPasskeys, type Company } from '../../members/index.ts'
import { readNow, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { Refusals } from '../../platform/http/refusals.ts'
import type { AgentId } from '../../platform/ops/ids.ts'
import { findSession, type Session } from '../../sessions/index.ts'
import type { ApprovalsDeps } from '../deps.ts'
import { findDefinition } from '../present.ts'
import { approvalConflict, approvalRefused, noSuchApproval, statusAt, type ApprovalKey } from '../rules.ts'
import { findApproval, type Approval } from '../store.ts'
import { findOwnTurn, findRetryAt, type OwnTurn } from './store.ts'

// Everything that a decision is checked against: when its options are made, and again when it is committed.

export type Decision = 'approve' | 'deny'
export type DecisionInput = {
  readonly approvalId: string
  readonly decision: Decision
  readonly viewHash: string
  readonly sessionId: string | undefined
}

/** An approval as one of its approvers sees it. */
export type OwnApproval = {
  readonly key: ApprovalKey & { readonly agentId: AgentId; readonly mode: Mode }
  readonly turn: OwnTurn
  /** Whether the person is still a member who has consented. */
  readonly isEnrolled: boolean
  /** When the person consented last; null for a simulated approver. */
  readonly consentedAt: Date | null
  /** The company with which the person has to sign in; undefined where they need not. */
  readonly company: Company | undefined
  readonly approval: Approval
  readonly envelope: Envelope
  readonly view: ApprovalView
  readonly viewHash: string
  readonly now: Date
}

/** The approval of a turn; undefined once its envelope is erased. */
export const findTurnApproval = async (
  tx: Tx,
  turn: OwnTurn,
  person: Pick<OwnApproval, 'isEnrolled' | 'consentedAt' | 'company'>,
): Promise<OwnApproval | undefined> => {
  const key = {
    agentId: turn.agent_id as AgentId,
    mode: turn.mode,
    approvalId: turn.approval_id,
  }
  const approval = await findApproval(tx, key)
  const envelope = approval?.envelope
  if (!approval || !envelope) return undefined
  const definition = await findDefinition(tx, approval)
  const view = approvalView(envelope, definition ?? undefined)
  const now = await readNow(tx)
  return { key, turn, ...person, approval, envelope, view, viewHash: await viewHash(view), now }
}

/** The approval and the turn of this person in it; undefined for anybody else's. */
export const findOwnApproval = async (
  tx: Tx,
  personId: string,
  approvalId: string,
): Promise<OwnApproval | undefined> => {
  const memberships = await listMemberships(tx, personId)
  const turn = await findOwnTurn(tx, memberships, approvalId)
  if (!turn) return undefined
  const member = memberships.find(({ memberId }) => memberId === turn.member_id)
  return findTurnApproval(tx, turn, {
    isEnrolled: member?.status === 'consented' || member?.status === 'enrolled',
    consentedAt: member?.consentedAt ?? null,
    company: member && (await findCompany(tx, member)),
  })
}

/** The agent that owns the recordings of an approval. The platform agent owns those of known-bad requests, to hide them. */
export const recordingOwnerOf = (
  { platformAgentOf }: Pick<ApprovalsDeps, 'platformAgentOf'>,
  { agentId, mode, isKnownBad }: { agentId: AgentId; mode: Mode; isKnownBad: boolean },
): AgentId => (isKnownBad ? platformAgentOf(mode) : agentId)

type OwnPasskey = Awaited<ReturnType<typeof listOwnPasskeys>>[number]
export type DecisionFacts = {
  readonly input: DecisionInput
  readonly own: OwnApproval | undefined
  readonly session: Session | undefined
  readonly passkeys: readonly OwnPasskey[]
  readonly retryAt: Date | null
}

export const loadFacts = async (
  tx: Tx,
  deps: ApprovalsDeps,
  personId: string,
  input: DecisionInput,
): Promise<DecisionFacts> => {
  const own = await findOwnApproval(tx, personId, input.approvalId)
  if (!own) return { input, own, session: undefined, passkeys: [], retryAt: null }
  const { agentId, mode } = own.key
  const owner = recordingOwnerOf(deps, { agentId, mode, isKnownBad: own.approval.knownBad !== null })
  const { sessionId } = input
  return {
    input,
    own,
    session: sessionId === undefined ? undefined : await findSession(tx, { agentId: owner, mode, sessionId }),
    passkeys: await listOwnPasskeys(tx, personId),
    retryAt: await findRetryAt(tx, { agentId, mode, approverId: own.turn.approver_id }),
  }
}

/** Hardware that does not copy the key, as its maker attests. */
export const isDeviceBound = ({ assurance, synced }: OwnPasskey): boolean =>
  !synced && assurance !== 'software'

/** Seconds in which the page was seen; 0 where nothing was counted. */
export const inViewSecondsOf = ({ counted }: Pick<Session, 'counted'>): number =>
  Math.floor((counted?.visibleMs ?? 0) / 1_000)

const refuseForeign = ({ own }: DecisionFacts) => (own ? undefined : noSuchApproval())

const refuseWithdrawn = ({ own }: DecisionFacts) =>
  own?.isEnrolled
    ? undefined
    : approvalRefused('approver', 'approver_not_enrolled', 'you have not enrolled or have withdrawn')

/** Who left the company, or was not seen by it today, decides nothing: not even a denial. */
const refuseLeaver = ({ own }: DecisionFacts) =>
  own?.company?.state === 'withdrawn'
    ? approvalRefused('approver', 'company_withdrawn', 'your company has withdrawn its word for you')
    : undefined
const refuseUnseen = ({ own }: DecisionFacts) =>
  own?.company?.state === 'needed'
    ? approvalRefused('approver', 'company_sign_in_needed', 'sign in with your company first')
    : undefined

/** Until an approved action can be consumed, every approver can still deny it. */
const isVetoable = ({ approval, now }: OwnApproval): boolean =>
  approval.status === 'approved' && approval.consumableAt !== null && now < approval.consumableAt

const refuseLate = ({ own }: DecisionFacts) =>
  own && own.approval.status === 'pending' && statusAt(own.approval, own.now) === 'expired'
    ? approvalConflict('approval', 'too_late', 'the time to decide is over')
    : undefined

const refuseEnded = ({ own, input }: DecisionFacts) => {
  if (!own || own.approval.status === 'pending') return undefined
  if (input.decision === 'deny' && isVetoable(own)) return undefined
  return approvalConflict('approval', 'not_pending', `the approval is ${statusAt(own.approval, own.now)}`)
}

/** An approver who has approved can still deny, as long as the approval can be denied. */
const refuseDecided = ({ own, input }: DecisionFacts) => {
  const decided = own?.turn.decision ?? null
  if (decided === null || (decided === 'approve' && input.decision === 'deny')) return undefined
  return approvalConflict('decision', 'already_decided', `you have decided already: ${decided}`)
}

const refuseOtherView = ({ own, input }: DecisionFacts) =>
  own?.viewHash === input.viewHash
    ? undefined
    : approvalRefused('body.viewHash', 'view_differs', 'the page did not show this approval by these rules')

/** The request was checked for this. An envelope of an earlier version, or one that somebody wrote, was not. */
const refuseValue = ({ own, input }: DecisionFacts) => {
  const field = input.decision === 'approve' && own ? refusedField(own.view) : undefined
  return (
    field &&
    approvalRefused(
      `action${field.path}`,
      'value_not_permitted',
      'the field has a character that can be mistaken, so nobody can approve it',
    )
  )
}

const refuseOften = ({ input, retryAt }: DecisionFacts) =>
  input.decision === 'approve' && retryAt !== null
    ? approvalRefused(
        'decision',
        'too_many_decisions',
        `you have approved as often as your team allows in an hour; you can approve again at ${retryAt.toISOString()}`,
      )
    : undefined

const refuseCopiedPasskey = ({ own, input, passkeys }: DecisionFacts) =>
  input.decision === 'approve' &&
  own?.envelope.policy.passkey === 'device_bound' &&
  !passkeys.some(isDeviceBound)
    ? approvalRefused('passkey', 'passkey_not_device_bound', 'this needs a passkey in attested hardware')
    : undefined

const refuseUnrecorded = ({ input }: DecisionFacts) =>
  input.decision === 'approve' && input.sessionId === undefined
    ? approvalRefused('body.sessionId', 'recording_missing', 'an approval needs the recording of the page')
    : undefined

/** Recorded by this person for this approval. */
const isOwnRecording = ({ own, session }: DecisionFacts): boolean =>
  session?.kind === 'approval' && session.challenge === own?.turn.challenge

const refuseOtherRecording = (facts: DecisionFacts) =>
  facts.input.decision === 'approve' && !isOwnRecording(facts)
    ? approvalRefused(
        'body.sessionId',
        'recording_of_other_act',
        'this is not your recording of this approval',
      )
    : undefined

const refuseUnscored = ({ input, session }: DecisionFacts) =>
  input.decision === 'approve' && (session?.status === 'open' || session?.status === 'closed')
    ? new Refusal('session_not_ready', { headers: { 'retry-after': '1' } })
    : undefined

const refuseExpired = ({ input, session }: DecisionFacts) =>
  input.decision === 'approve' && session?.status === 'expired' ? new Refusal('session_expired') : undefined

const refuseRejected = ({ input, session }: DecisionFacts) =>
  input.decision === 'approve' && session && session.verified !== true
    ? new Refusal('session_rejected', {
        details: session.reasons.map((reason) => ({
          path: 'session',
          code: reason,
          message: reasonText(reason),
        })),
      })
    : undefined

const recordingMinutesMax = 60
const isOld = ({ own, session }: DecisionFacts): boolean =>
  own !== undefined &&
  session !== undefined &&
  own.now.getTime() - (session.endedAt ?? session.at).getTime() > recordingMinutesMax * 60_000

const refuseOldRecording = (facts: DecisionFacts) =>
  facts.input.decision === 'approve' && isOld(facts)
    ? approvalRefused('session', 'recording_too_old', 'the recording ended more than an hour ago')
    : undefined

const refuseTooFast = ({ own, input, session }: DecisionFacts) => {
  const minSeconds = own?.envelope.policy.minSeconds ?? 0
  return input.decision === 'approve' && session && inViewSecondsOf(session) < minSeconds
    ? approvalRefused('session', 'too_fast', `the page must be in view for ${minSeconds} seconds`)
    : undefined
}

/** The refusals of a decision, in the order in which they are checked. A denial needs no recording. */
export const decisionRefusals: Refusals<DecisionFacts> = [
  ['approval_not_found', refuseForeign],
  ['approver_not_enrolled', refuseWithdrawn],
  ['company_withdrawn', refuseLeaver],
  ['company_sign_in_needed', refuseUnseen],
  ['too_late', refuseLate],
  ['not_pending', refuseEnded],
  ['already_decided', refuseDecided],
  ['view_differs', refuseOtherView],
  ['value_not_permitted', refuseValue],
  ['too_many_decisions', refuseOften],
  ['passkey_not_device_bound', refuseCopiedPasskey],
  ['recording_missing', refuseUnrecorded],
  ['recording_of_other_act', refuseOtherRecording],
  ['session_not_ready', refuseUnscored],
  ['session_expired', refuseExpired],
  ['session_rejected', refuseRejected],
  ['recording_too_old', refuseOldRecording],
  ['too_fast', refuseTooFast],
]

export type CheckedDecision = {
  readonly input: DecisionInput
  readonly own: OwnApproval
  /** Verified, of this act and not old; undefined where a person denies without such a recording. */
  readonly session: Session | undefined
  readonly passkeys: readonly OwnPasskey[]
}
export const narrowDecision = (facts: DecisionFacts): CheckedDecision | undefined => {
  const { input, own, session, passkeys } = facts
  const isUsable = session?.verified === true && isOwnRecording(facts) && !isOld(facts)
  return own && { input, own, session: isUsable ? session : undefined, passkeys }
}
