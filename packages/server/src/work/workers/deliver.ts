import { listEligibleMemberships } from '../../members/index.ts'
import type { Person } from '../../platform/http/call.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { publish } from '../../platform/queue/outbox.ts'
import { findSession, updateSessionMember, type Session } from '../../sessions/index.ts'
import type { WorkerDeps } from '../deps.ts'
import { validateAnswer, omitEmptyFields } from '../workflows/forms.ts'
import { gradeKnownAnswer } from '../units/known-answers.ts'
import { findOrder } from '../orders/store.ts'
import { findAssignment, updateAssignment, type Assignment } from './store.ts'
import { presentAssignment } from './present.ts'
import { workerRefOf } from '../units/rules.ts'
import { releaseUnit, lockUnit, syncOrderStatus, type LockedUnit } from '../units/transitions.ts'
import { updateUnitDelivered } from '../units/store.ts'
import { requireOwnAssignment } from './assignment.ts'

type Input = { readonly assignmentId: string; readonly sessionId: string; readonly answer: unknown }

/** Refuses an assignment that is no longer claimed, or whose time limit is over. */
const requireActiveClaim = ({ status, isExpired }: Assignment): void => {
  if (status !== 'claimed') throw new Refusal('order_conflict', { message: `This work is ${status}.` })
  if (isExpired)
    throw new Refusal('order_conflict', {
      message: 'Your time for it is over. Somebody else may take it now.',
    })
}

/** Refuses a session that was not recorded for this assignment, or is not scored yet. */
const requireWorkSession = (session: Session | undefined, challenge: string): Session => {
  if (!session || session.kind !== 'work' || session.challenge !== challenge)
    throw new Refusal('not_found', { message: 'This recording was not made for this work.' })
  if (session.status === 'expired')
    throw new Refusal('session_expired', { message: 'The recording ran out. Do the steps again.' })
  if (session.status === 'open' || session.status === 'closed')
    throw new Refusal('session_not_ready', { headers: { 'retry-after': '1' } })
  return session
}

const checkDelivery = async (tx: Tx, person: Person, input: Input) => {
  const assignment = await requireOwnAssignment(tx, person.personId, input.assignmentId)
  const isRepeat = assignment.sessionId === input.sessionId && assignment.status !== 'claimed'
  if (isRepeat) return { repeated: await presentAssignment(tx, assignment) }
  requireActiveClaim(assignment)
  const order = await findOrder(tx, assignment)
  if (!order?.terms)
    throw new Error(`order ${assignment.orderId} of assignment ${input.assignmentId} has no terms`)
  const details = validateAnswer(order.terms.answerForm, input.answer)
  if (details.length > 0) throw new Refusal('validation_failed', { details })
  const { agentId, mode } = assignment
  const session = requireWorkSession(
    await findSession(tx, { agentId, mode, sessionId: input.sessionId }),
    assignment.challenge,
  )
  const members = (await listEligibleMemberships(tx, assignment.personId)).filter(
    (member) => member.mode === mode,
  )
  const member = members.find((one) => one.agentId === agentId) ?? members[0]
  if (!member) throw new Refusal('member_not_enrolled', { message: 'You are not enrolled any more.' })
  return { assignment, session, member }
}

/** Locks the unit; refuses where this claim no longer holds it. */
const lockActiveClaim = async (tx: Tx, assignment: Assignment): Promise<LockedUnit> => {
  const locked = await lockUnit(tx, assignment)
  if (locked?.holder?.assignmentId !== assignment.assignmentId)
    throw new Refusal('order_conflict', { message: 'This work is not in your hands any more.' })
  requireActiveClaim(locked.holder)
  return locked
}

const presentCurrentAssignment = async (tx: Tx, assignmentId: string) => {
  const assignment = await findAssignment(tx, assignmentId)
  if (!assignment) throw new Error(`assignment ${assignmentId} not found after its delivery`)
  return presentAssignment(tx, assignment)
}

/** Handles a session that was not verified: nothing is paid, and the unit is open again. */
const recordUnverifiedDelivery = (
  deps: WorkerDeps,
  assignment: Assignment,
  session: Session,
  workerRef: string,
) =>
  inTransaction(deps.ctx, 'system', async (tx) => {
    const locked = await lockActiveClaim(tx, assignment)
    const { agentId, mode } = assignment
    // So that export and erasure of the person find the recording.
    await updateSessionMember(tx, { agentId, mode, sessionId: session.sessionId, at: session.at }, workerRef)
    await releaseUnit(tx, locked, {
      status: 'not_verified',
      sessionId: session.sessionId,
      quality: session.quality,
      reasons: session.reasons,
    })
    return presentCurrentAssignment(tx, assignment.assignmentId)
  })

/** Delivers an answer: validation, credential for the buyer, unit and event commit together. */
export const workerDeliver = async (deps: WorkerDeps, person: Person, input: Input) => {
  const { ctx } = deps
  const checked = await inTransaction(ctx, 'system', (tx) => checkDelivery(tx, person, input))
  if ('repeated' in checked) return checked.repeated
  const { assignment, session, member } = checked
  const { agentId, mode, personId } = assignment
  const workerRef = workerRefOf(ctx.secrets.derive('worker'), { agentId, mode, personId })
  if (session.verified !== true) return recordUnverifiedDelivery(deps, assignment, session, workerRef)
  const workerSession = { ...session, memberRef: workerRef }
  return deps.mintWork({ agentId, mode, session: workerSession, member }, async (tx, credentialId) => {
    const { order, unit } = await lockActiveClaim(tx, assignment)
    const { sessionId, quality } = session
    await updateSessionMember(tx, { agentId, mode, sessionId, at: session.at }, workerRef)
    await updateUnitDelivered(tx, unit, {
      workerRef,
      sessionId,
      credentialId,
      answer: omitEmptyFields(input.answer),
      quality,
    })
    await updateAssignment(tx, assignment.assignmentId, { status: 'delivered', sessionId, quality })
    const { orderId, n } = unit
    await publish(tx, {
      agentId,
      mode,
      subject: orderId,
      type: 'order.unit_delivered',
      data: { orderId, n, credentialId },
    })
    if (order.purpose === 'gold')
      await gradeKnownAnswer(tx, deps, { order, assignment, personId, answer: input.answer })
    else await syncOrderStatus(tx, order)
    return presentCurrentAssignment(tx, assignment.assignmentId)
  })
}
