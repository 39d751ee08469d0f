import type { SignedWorkCredential, WorkMintResult } from '../../credentials/index.ts'
import { listEligibleMemberships } from '../../members/index.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import type { Person } from '../../platform/http/call.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { checkAndNarrow, type Refusals } from '../../platform/http/refusals.ts'
import { publish } from '../../platform/queue/outbox.ts'
import { findSession, updateSessionMember, type Session } from '../../sessions/index.ts'
import type { UnitDeps, WorkerDeps } from '../deps.ts'
import { findOrder, type Order } from '../orders/store.ts'
import { moveToKnownAnswerOrder } from '../units/known-answers.ts'
import { recordedSecondsOf, reviewHours, workerRefOf } from '../units/rules.ts'
import { updateUnitDelivered } from '../units/store.ts'
import { lockUnit, releaseUnit, syncOrderStatus, type LockedUnit } from '../units/transitions.ts'
import { omitEmptyFields, validateAnswer } from '../workflows/forms.ts'
import { findOwnAssignment, noSuchAssignment, type OwnAssignment } from './assignment.ts'
import { presentAssignment } from './present.ts'
import { recordingOwnerOf } from './recording-owner.ts'
import { findAssignment, updateAssignment, updateClaimDue, type Assignment } from './store.ts'
import { updateRecordedSeconds } from './time/store.ts'

// The delivery of a unit, from top to bottom: load, refuse, sign the credential, commit. `workerDeliver` connects the
// steps, which follow in their order. Money moves when the unit is accepted (`acceptUnit`): when the buyer accepts it or
// its review period ends.

type Input = { readonly assignmentId: string; readonly sessionId: string; readonly answer: unknown }

/** Delivers an answer with the session in which the person worked. */
export const workerDeliver = async (deps: WorkerDeps, person: Person, input: Input) => {
  const { ctx } = deps
  const loaded = await inTransaction(ctx, 'system', (tx) => loadDelivery(tx, deps, person, input))
  if (loaded.repeated) return loaded.repeated
  const delivery = checkAndNarrow(loadedRefusals, loaded, narrowDelivery)
  const { assignment, session, member } = delivery
  const { site, mode, personId } = assignment
  const agentId = recordingOwnerOf(deps, assignment)
  const workerRef = workerRefOf(ctx.secrets.derive('worker'), { agentId: site, mode, personId })
  if (session.verified !== true)
    return inTransaction(ctx, 'system', (tx) => commitUnverified(tx, deps, delivery, workerRef))
  const workerSession = { ...session, memberRef: workerRef }
  const signed = await deps.mintWork.sign({ agentId, mode, session: workerSession, member, personId })
  const commit = (tx: Tx) => commitDelivery(tx, deps, delivery, { signed, workerRef })
  return inTransaction(ctx, 'system', commit).catch((error: unknown) => extendClaim(deps, delivery, error))
}

// 1. Load: everything that the refusals look at, in one transaction.

type Membership = Awaited<ReturnType<typeof listEligibleMemberships>>[number]
type LoadedDelivery = {
  readonly input: Input
  readonly assignment: OwnAssignment | undefined
  readonly order: Order | undefined
  readonly session: Session | undefined
  /** The person's membership at the buyer, or else at any agent of this mode. */
  readonly member: Membership | undefined
  /** The response to a delivery that is repeated. */
  readonly repeated: Awaited<ReturnType<typeof presentAssignment>> | undefined
}

const loadDelivery = async (
  tx: Tx,
  deps: WorkerDeps,
  { personId }: Person,
  input: Input,
): Promise<LoadedDelivery> => {
  const nothing = { order: undefined, session: undefined, member: undefined, repeated: undefined }
  const assignment = await findOwnAssignment(tx, personId, input.assignmentId)
  if (!assignment) return { input, assignment, ...nothing }
  const isRepeat = assignment.sessionId === input.sessionId && assignment.status !== 'claimed'
  if (isRepeat) return { input, assignment, ...nothing, repeated: await presentAssignment(tx, assignment) }
  const { agentId, mode } = assignment
  const order = await findOrder(tx, assignment)
  const owner = recordingOwnerOf(deps, assignment)
  const session = await findSession(tx, { agentId: owner, mode, sessionId: input.sessionId })
  const members = (await listEligibleMemberships(tx, personId)).filter((member) => member.mode === mode)
  const member = members.find((one) => one.agentId === agentId) ?? members[0]
  return { input, assignment, order, session, member, repeated: undefined }
}

// 2. Refuse.

type ClaimLookup = { readonly assignment: Assignment | undefined }

const refuseForeign = ({ assignment }: ClaimLookup) => (assignment ? undefined : noSuchAssignment())
const refuseUnclaimed = ({ assignment }: ClaimLookup) =>
  assignment && assignment.status !== 'claimed'
    ? new Refusal('order_conflict', { message: `This work is ${assignment.status}.` })
    : undefined
const refuseLate = ({ assignment }: ClaimLookup) =>
  assignment?.isExpired
    ? new Refusal('order_conflict', {
        message: 'Your time for this unit is over. Another worker can claim it now.',
      })
    : undefined
const refuseAnswer = ({ input, assignment, order }: LoadedDelivery) => {
  if (!order?.terms)
    throw new Error(
      `order ${assignment?.orderId} of assignment ${input.assignmentId} ${order ? `is ${order.status} and has no terms` : 'not found'} while checking an answer`,
    )
  const details = validateAnswer(order.terms.answerForm, input.answer)
  return details.length > 0 ? new Refusal('validation_failed', { details }) : undefined
}
const refuseOtherSession = ({ assignment, session }: LoadedDelivery) =>
  session?.kind === 'work' && session.challenge === assignment?.challenge
    ? undefined
    : new Refusal('not_found', { message: 'This recording belongs to other work.' })
const refuseExpiredSession = ({ session }: LoadedDelivery) =>
  session?.status === 'expired'
    ? new Refusal('session_expired', { message: 'The recording has expired. Do the steps again.' })
    : undefined
const refuseUnscoredSession = ({ session }: LoadedDelivery) =>
  session?.status === 'open' || session?.status === 'closed'
    ? new Refusal('session_not_ready', { headers: { 'retry-after': '1' } })
    : undefined
const refuseUnenrolled = ({ member }: LoadedDelivery) =>
  member ? undefined : new Refusal('member_not_enrolled', { message: 'You are no longer enrolled.' })

const loadedRefusals: Refusals<LoadedDelivery> = [
  ['assignment_not_found', refuseForeign],
  ['assignment_not_claimed', refuseUnclaimed],
  ['claim_expired', refuseLate],
  ['answer_invalid', refuseAnswer],
  ['session_of_other_work', refuseOtherSession],
  ['session_expired', refuseExpiredSession],
  ['session_not_ready', refuseUnscoredSession],
  ['worker_not_enrolled', refuseUnenrolled],
]

type CheckedDelivery = {
  readonly input: Input
  readonly assignment: OwnAssignment
  readonly session: Session
  readonly member: Membership
  /** The deadline of the order, where it has one. */
  readonly answerBy: string | undefined
}
const narrowDelivery = ({
  input,
  assignment,
  order,
  session,
  member,
}: LoadedDelivery): CheckedDelivery | undefined =>
  assignment && session && member && { input, assignment, session, member, answerBy: order?.terms?.answerBy }

/** In the transaction that delivers. */
const credentialRefusals: Refusals<WorkMintResult> = [
  ['credential_refused', (minted) => ('refusal' in minted ? minted.refusal : undefined)],
]

type ClaimLock = { readonly assignmentId: string; readonly locked: LockedUnit | undefined }
const refuseOtherHolder = ({ assignmentId, locked }: ClaimLock) =>
  locked?.holder?.assignmentId === assignmentId
    ? undefined
    : new Refusal('order_conflict', { message: 'You no longer hold this unit.' })
/** With the unit locked: a deadline, a return or a chargeback may have ended the claim since it was loaded. */
const lockedRefusals: Refusals<ClaimLock> = [
  ['unit_not_held', refuseOtherHolder],
  ['held_unit_not_claimed', ({ locked }) => refuseUnclaimed({ assignment: locked?.holder })],
  ['held_claim_expired', ({ locked }) => refuseLate({ assignment: locked?.holder })],
]

/** Every refusal of a delivery, in the order in which they are checked. */
export const deliveryRefusals = [...loadedRefusals, ...credentialRefusals, ...lockedRefusals] as const

// 3. Commit: a delivery whose session is not verified releases the unit, any other delivers it.

const lockClaimedUnit = async (tx: Tx, assignment: Assignment): Promise<LockedUnit> => {
  const { assignmentId } = assignment
  const lock = { assignmentId, locked: await lockUnit(tx, assignment) }
  return checkAndNarrow(lockedRefusals, lock, ({ locked }) => locked)
}

const presentCurrentAssignment = async (tx: Tx, assignmentId: string) => {
  const assignment = await findAssignment(tx, assignmentId)
  if (!assignment) throw new Error(`assignment ${assignmentId} not found after its delivery`)
  return presentAssignment(tx, assignment)
}

/** Nothing is paid, and the unit is open again. */
const commitUnverified = async (
  tx: Tx,
  deps: WorkerDeps,
  { assignment, session }: CheckedDelivery,
  workerRef: string,
) => {
  const { mode, assignmentId } = assignment
  const agentId = recordingOwnerOf(deps, assignment)
  const { sessionId, quality, reasons, at } = session
  const locked = await lockClaimedUnit(tx, assignment)
  // So that export and erasure of the person find the recording.
  await updateSessionMember(tx, { agentId, mode, sessionId, at }, workerRef)
  await releaseUnit(tx, deps, locked, { status: 'not_verified', sessionId, quality, reasons })
  return presentCurrentAssignment(tx, assignmentId)
}

/** Where the network of the worker is busy, the claim lasts until there is a place again, so that no work is lost. */
const extendClaim = async (
  { ctx }: WorkerDeps,
  { assignment, session, answerBy }: CheckedDelivery,
  error: unknown,
): Promise<never> => {
  if (error instanceof Refusal && error.code === 'network_busy') {
    const openInSeconds = Number(error.options.headers?.['retry-after'] ?? 0)
    const sessionEnd = session.endedAt ?? session.at
    await inTransaction(ctx, 'system', (tx) =>
      updateClaimDue(tx, assignment.assignmentId, { openInSeconds, sessionEnd, dueAtLatest: answerBy }),
    )
  }
  throw error
}

/** What is delivered. The simulated worker delivers it too, without being a person. */
type Delivery = {
  readonly input: Pick<Input, 'answer'>
  readonly assignment: Assignment
  readonly session: Session
}
/** Credential, answer, states and event commit together. */
export const commitDelivery = async (
  tx: Tx,
  deps: UnitDeps & Pick<WorkerDeps, 'mintWork'>,
  { input, assignment, session }: Delivery,
  { signed, workerRef }: { readonly signed: SignedWorkCredential; readonly workerRef: string },
) => {
  const { assignmentId, mode, knownItem } = assignment
  const { sessionId, quality, at } = session
  const minted = await deps.mintWork.write(tx, signed)
  const { credentialId } = checkAndNarrow(credentialRefusals, minted, (result) =>
    'credentialId' in result ? result : undefined,
  )
  const claimed = await lockClaimedUnit(tx, assignment)
  const answer = omitEmptyFields(input.answer)
  const { order, unit, reviewMinutes } = knownItem
    ? await moveToKnownAnswerOrder(tx, deps, claimed, { assignment, item: knownItem, answer, session })
    : { ...claimed, reviewMinutes: reviewHours * 60 }
  const { agentId, orderId, n } = unit
  await updateSessionMember(tx, { agentId, mode, sessionId, at }, workerRef)
  await updateUnitDelivered(tx, unit, { workerRef, sessionId, credentialId, answer, quality, reviewMinutes })
  if (!knownItem) await updateAssignment(tx, assignmentId, { status: 'delivered', sessionId, quality })
  const seconds = recordedSecondsOf(session)
  if (seconds !== undefined) await updateRecordedSeconds(tx, assignmentId, seconds)
  await publish(tx, {
    agentId,
    mode,
    subject: orderId,
    type: 'order.unit_delivered',
    data: { orderId, n, credentialId },
  })
  await syncOrderStatus(tx, order)
  return presentCurrentAssignment(tx, assignmentId)
}
