import { confirmationStep, freePlanCondition, type CredentialFloor, type ForgingFile } from '@pohf/protocol'
import { reasonText } from '@pohf/protocol/reasons'
import { stepUpWays } from '../evidence/index.ts'
import type { Member } from '../members/index.ts'
import type { Agent } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { Refusal, type StepUpWay } from '../platform/http/errors.ts'
import { checkAndNarrow, type Refusals } from '../platform/http/refusals.ts'
import type { Session } from '../sessions/index.ts'
import { floorFault, type CredentialStrength } from './forging/rules.ts'
import type { EnrolledMember } from './mint/assurance-inputs.ts'
import type { MintedCredential } from './store.ts'

/** Says what to do next, also to an agent that never confirmed its address. */
export const insufficientCredits = ({ config }: Pick<Ctx, 'config'>): Refusal =>
  new Refusal('insufficient_credits', {
    message: `No credits remain. ${freePlanCondition} ${confirmationStep(config.SMTP_URL !== undefined)} Or buy credits at the address in buy.`,
    buy: `${config.BASE_URL}/buy`,
  })

/** The call may be sent again in a second. */
export const busy = (): Refusal => new Refusal('overloaded', { headers: { 'retry-after': '1' } })

export const refuseRevoked = ({ stored }: { readonly stored: MintedCredential | undefined }) =>
  stored?.state === 'revoked' ? new Refusal('credential_revoked') : undefined

/** A credential that is stored or will be minted, with the floor that it must reach. */
export type FloorCheck = {
  readonly floor: CredentialFloor
  readonly strength: CredentialStrength
  readonly forging: ForgingFile
  readonly at: Date
  /** The ways to a stronger root for this act; none where it has its credential. */
  readonly stepUp: () => readonly StepUpWay[]
}
/** Refuses a credential below the floor: `verify` answers session_rejected, `verify-personhood` below_policy. */
export const refuseBelowFloor = (
  code: 'session_rejected' | 'below_policy',
  { floor, strength, forging, at, stepUp }: FloorCheck,
): Refusal | undefined => {
  const fault = floorFault(floor, strength, { file: forging, at })
  if (fault === undefined) return undefined
  return new Refusal(code, {
    details: [{ path: 'policy', code: 'below_policy', message: fault, stepUp: stepUp() }],
  })
}

/** A device signs for the key of the session, so without a key there is nothing to sign for. */
export const stepUpWaysOf = (
  ctx: Pick<Ctx, 'config' | 'secrets' | 'ids'>,
  { agentId, mode }: Pick<Agent, 'mode'> & { readonly agentId: string },
  { sessionId, jkt }: Session,
  at: Date,
): ReturnType<typeof stepUpWays> =>
  jkt === null ? [] : stepUpWays(ctx, { agentId, mode, subjectRef: sessionId }, at)

type SessionLookup = { readonly session: Session | undefined }

const refuseMissingSession = ({ session }: SessionLookup) =>
  session ? undefined : new Refusal('not_found', { message: 'No such session.' })

/**
 * Refuses the recording of a decision about an approval: its credential is minted with the decision, which a passkey signs.
 */
const refuseDecision = ({ session }: SessionLookup) =>
  session?.kind === 'approval'
    ? new Refusal('session_rejected', {
        details: [
          {
            path: 'session',
            code: 'session_of_approval',
            message: 'this recording belongs to an approval: its credential is minted with the decision',
          },
        ],
      })
    : undefined

const refuseExpiredSession = ({ session }: SessionLookup) =>
  session?.status === 'expired' ? new Refusal('session_expired') : undefined

const refuseUnscoredSession = ({ session }: SessionLookup) =>
  session?.status === 'open' || session?.status === 'closed'
    ? new Refusal('session_not_ready', { headers: { 'retry-after': '1' } })
    : undefined

const refuseRejectedSession = ({ session }: SessionLookup) => {
  if (!session || session.verified === true) return undefined
  const details = session.reasons.map((reason) => ({
    path: 'session',
    code: reason,
    message: reasonText(reason),
  }))
  return new Refusal('session_rejected', { details })
}

/** How long after its end a session can get its first credential, so that nobody collects sessions to mint them together. */
const firstMintMs = 24 * 3_600_000
/** Refuses the first credential of a live session that ended more than a day ago. */
export const refuseLateMint = (call: FirstMint): Refusal | undefined => {
  const { request, session, stored, at } = call
  if (!session || stored || request.agent.mode === 'test') return undefined
  const endedAt = session.endedAt ?? session.at
  if (at.getTime() - endedAt.getTime() <= firstMintMs) return undefined
  const message = 'A session gets its first credential within 24 hours of its end. Start a new session.'
  return new Refusal('session_expired', { message })
}
type FirstMint = SessionLookup & {
  readonly request: { readonly agent: Pick<Agent, 'mode'> }
  readonly stored: MintedCredential | undefined
  readonly at: Date
}

/** The refusals of a session that is to be verified, in order. */
export const sessionRefusals: Refusals<SessionLookup> = [
  ['session_not_found', refuseMissingSession],
  ['session_of_approval', refuseDecision],
  ['session_expired', refuseExpiredSession],
  ['session_not_ready', refuseUnscoredSession],
  ['session_rejected', refuseRejectedSession],
]

/** For operations that have no list of their own. */
export const requireVerified = (found: Session | undefined): Session =>
  checkAndNarrow(sessionRefusals, { session: found }, ({ session }) => session)

type MemberLookup = { readonly member: Member | undefined }

const refuseMissingMember = ({ member }: MemberLookup) =>
  member ? undefined : new Refusal('not_found', { message: 'No such member.' })

/** Refuses a member who is not enrolled, a duplicate or banned. */
const refuseUnenrolledMember = ({ member }: MemberLookup) =>
  member?.status === 'refused'
    ? new Refusal('member_not_enrolled', {
        details: [
          {
            path: 'body.memberId',
            code: member.reason,
            message: `the member is ${member.reason.replaceAll('_', ' ')}`,
          },
        ],
      })
    : undefined

/** The refusals of a member whose personhood is to be verified, in order. */
export const memberRefusals: Refusals<MemberLookup> = [
  ['member_not_found', refuseMissingMember],
  ['member_not_enrolled', refuseUnenrolledMember],
]

/** For operations that have no list of their own. */
export const requireEnrolled = (found: Member | undefined): EnrolledMember =>
  checkAndNarrow(memberRefusals, { member: found }, ({ member }) =>
    member?.status === 'refused' ? undefined : member,
  )

/** Refuses a recording that a micro-task has used: only the session of its completion gets a credential. */
export const refuseSpentRecording = ({ isSpent }: { readonly isSpent: boolean }) =>
  isSpent
    ? new Refusal('session_rejected', {
        details: [
          {
            path: 'session',
            code: 'session_used',
            message: 'a micro-task used this recording: verify the session of its completion',
          },
        ],
      })
    : undefined
