import { simulatedApprovers, type ApprovalState, type Mode } from '@pohf/protocol'
import { Refusal } from '../platform/http/errors.ts'
import { hmacOf } from '../platform/ops/secrets.ts'

export const typesMax = 200
export const versionsMax = 1_000
export const labelsMax = 200
export const approversPerAgentMax = 200
export const groupsMax = 100
export const invitationsPerDayMax = 20
export const pendingMax = 1_000
/** Mails about requests that an agent sends to one approver in an hour. */
export const requestMailsPerHourMax = 3
/** Approvals of a person in an hour, where no owner set another number. */
export const decisionsPerHourDefault = 60
export const decideMinutesMin = 1
export const decideDaysMax = 7
export const consumeDaysMax = 7
/** How long the envelope of an approval and the words of its approvers are kept after the deadline to consume it. */
export const envelopeDays = 400

/** A rule of approvals that a request or a decision breaks. docs/guides/approvals.md lists every code. */
export const approvalRefused = (path: string, code: string, message: string): Refusal =>
  new Refusal('approval_refused', {
    message: `A rule of approvals refuses this: ${message}.`,
    details: [{ path, code, message }],
  })

/** Refuses a call that the state of an approval, a type, an approver or a group does not allow. */
export const approvalConflict = (path: string, code: string, message: string): Refusal =>
  new Refusal('approval_conflict', {
    message: `The present state does not allow this: ${message}.`,
    details: [{ path, code, message }],
  })

export const noSuchApproval = (): Refusal => new Refusal('not_found', { message: 'No such approval.' })

export type ApprovalKey = { readonly agentId: string; readonly mode: Mode; readonly approvalId: string }

/** The reference under which a decision's credential is minted and found. */
export const decisionReferenceOf = (approvalId: string, approver: string): string =>
  `${approvalId}:${approver}`

/** The challenge that binds a recording to one decision. */
export const turnChallengeOf = (key: Buffer, approval: ApprovalKey, approver: string): string => {
  const { agentId, mode, approvalId } = approval
  const mac = [agentId, mode, approvalId, approver].reduce(
    (sum, field) => sum.update(`${Buffer.byteLength(field)}:`).update(field),
    hmacOf(key),
  )
  return `apl_${mac.digest('base64url').slice(0, 32)}`
}

export type SimulatedApprover = (typeof simulatedApprovers)[number]
/** In the sandbox some approvers are not people. */
export const isSimulatedApprover = (mode: Mode, approver: string): approver is SimulatedApprover =>
  mode === 'test' && simulatedApprovers.some((one) => one === approver)
export const simulatedName = (approver: SimulatedApprover): string =>
  `A simulated person who ${{ apv_test_approves: 'approves', apv_test_denies: 'denies', apv_test_silent: 'says nothing' }[approver]}`

/** What an approval is now: past its deadline it has expired, whether or not the job has said so yet. */
export const statusAt = (
  approval: { readonly status: ApprovalState; readonly decideBy: Date; readonly consumeBy: Date },
  now: Date,
): ApprovalState => {
  if (approval.status === 'pending' && approval.decideBy <= now) return 'expired'
  return approval.status === 'approved' && approval.consumeBy <= now ? 'expired' : approval.status
}
