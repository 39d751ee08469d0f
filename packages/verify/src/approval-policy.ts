import { isObject, type SignedClaims } from './claims.ts'
import type { Policy } from './policy.ts'
import { CredentialRefusal, type Reason } from './refusal.ts'

type Finding = { readonly note: string; readonly skipped?: true }
const daySeconds = 86_400

const refuse = (reason: Reason, message: string): never => {
  throw new CredentialRefusal(reason, message)
}

const wholeOf = (claim: Readonly<Record<string, unknown>>, name: string, object: string): number => {
  const value = claim[name]
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0)
    return refuse('claims_malformed', `The claim ${object}.${name} is missing or has another form.`)
  return value
}

/**
 * Compares a decision with the caller's approval policy. Whose people decided is the agent of the credential: the service gave that
 * id to an account, and only this account enrols its approvers. `approver.enrolled.by` is a person of whatever account enrolled them,
 * so an agent that enrols its own approver would fill it as truthfully as a company does.
 */
export const checkApproval = (claims: SignedClaims, policy: Policy): Finding => {
  const { kind, agent, approval, approver } = claims
  if (kind !== 'approval') return { note: 'another kind', skipped: true }
  const demanded = policy.approval
  if (!demanded) {
    if (policy.minForging !== undefined || policy.minForgingHuman !== undefined)
      return refuse(
        'approval_policy_missing',
        'A decision has no market price; wanted: a policy of approvals that says whose people decide.',
      )
    return { note: 'not asked for', skipped: true }
  }
  if (!isObject(approval) || !isObject(approver))
    return refuse('claims_malformed', 'The claim approver is missing or has another form.')
  // A denial may stand beside approvals of others, and would then pass every demand below.
  if (approval.decision !== 'approve')
    return refuse('not_approved', 'The person did not approve the action.')
  if (agent !== demanded.enrolledBy)
    return refuse(
      'not_enrolled_by',
      `The approver was enrolled in the account of ${agent.slice(0, 64)}; wanted: ${demanded.enrolledBy}.`,
    )
  const decided = wholeOf(approver, 'decided', 'approver')
  if (decided < demanded.minApprovers)
    return refuse(
      'too_few_approvers',
      `Approved by ${decided}; wanted: ${demanded.minApprovers} or more people.`,
    )
  if (demanded.keyBound && approver.key !== 'device')
    return refuse(
      'key_not_bound',
      'The passkey that signed can leave its device, or nothing says that it cannot.',
    )
  const keyAge = wholeOf(approver, 'key_age', 'approver')
  if (keyAge < demanded.minKeyAgeDays * daySeconds)
    return refuse(
      'key_too_new',
      `The passkey had been registered for ${keyAge} s; wanted: ${demanded.minKeyAgeDays} days or more.`,
    )
  const shown = approval.shown_seconds === undefined ? 0 : wholeOf(approval, 'shown_seconds', 'approval')
  if (shown < demanded.minShownSeconds)
    return refuse(
      'shown_too_short',
      `The action was shown for ${shown} s; wanted: ${demanded.minShownSeconds} s or more.`,
    )
  return { note: `${decided} approved in the account of ${agent}` }
}
