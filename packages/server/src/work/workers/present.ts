import type { Tx } from '../../platform/db/db.ts'
import { findOrder, type Order } from '../orders/store.ts'
import type { Assignment } from './store.ts'
import { listUnitInputs } from '../orders/present.ts'
import { findUnit, type Unit } from '../units/store.ts'

/** Whether the unit is as this person left it: one who gave it back sees nothing of who came after. */
const isStillAssigned = ({ status }: Assignment): boolean =>
  !['returned', 'ran_out', 'not_verified'].includes(status)

const summaryOf = (assignment: Assignment, order: Order, unit: Unit | undefined) => {
  const theirs = unit && isStillAssigned(assignment) ? unit : undefined
  return {
    assignmentId: assignment.assignmentId,
    workflowId: order.workflowId,
    mode: assignment.mode,
    title: order.terms?.title ?? order.taskType,
    status: assignment.status,
    rewardStars: assignment.rewardStars,
    claimedAt: assignment.claimedAt.toISOString(),
    dueAt: assignment.dueAt.toISOString(),
    deliveredAt: theirs?.deliveredAt?.toISOString() ?? null,
    quality: assignment.quality,
    reasons: [...assignment.reasons],
    rejection: theirs?.rejection ? { reason: theirs.rejection.reason, note: theirs.rejection.note } : null,
    appealUntil: theirs?.appealUntil?.toISOString() ?? null,
    appeal: theirs?.appeal
      ? {
          text: theirs.appeal.text,
          decision: theirs.appeal.decision,
          decisionReason: theirs.appeal.decisionReason,
        }
      : null,
  }
}

const readOrderAndUnit = async (tx: Tx, assignment: Assignment) => {
  const order = await findOrder(tx, assignment)
  if (!order) throw new Error('order not found for an assignment')
  return { order, unit: await findUnit(tx, assignment) }
}

/** An assignment in short, as its person sees it. */
export const summarizeAssignment = async (tx: Tx, assignment: Assignment) => {
  const { order, unit } = await readOrderAndUnit(tx, assignment)
  return summaryOf(assignment, order, unit)
}

/** All that the person needs to do it. */
export const presentAssignment = async (tx: Tx, assignment: Assignment) => {
  const { order, unit } = await readOrderAndUnit(tx, assignment)
  const [input] = await listUnitInputs(tx, order, [assignment])
  return {
    ...summaryOf(assignment, order, unit),
    site: assignment.agentId,
    challenge: assignment.challenge,
    instructions: order.instructions,
    steps: [...(order.terms?.steps ?? [])],
    estMinutes: order.terms?.estMinutes ?? 0,
    inputForm: order.terms?.inputForm ?? [],
    input: input ?? null,
    answerForm: order.terms?.answerForm ?? [],
    answer: unit && isStillAssigned(assignment) ? (unit.answer ?? null) : null,
  }
}
