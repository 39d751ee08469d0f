import type { Tx } from '../../platform/db/db.ts'
import { findOrder, type Order } from '../orders/store.ts'
import type { Assignment } from './store.ts'
import { listUnitInputs } from '../orders/present.ts'
import { findUnit, type Unit } from '../units/store.ts'

/** Whether the unit still shows the work of this person: after a release it may be of another person. */
const isStillAssigned = ({ status }: Assignment): boolean =>
  !['returned', 'ran_out', 'not_verified'].includes(status)

const summaryOf = (assignment: Assignment, order: Order, unit: Unit | undefined) => {
  const assignedUnit = unit && isStillAssigned(assignment) ? unit : undefined
  return {
    assignmentId: assignment.assignmentId,
    workflowId: order.workflowId,
    mode: assignment.mode,
    title: order.terms?.title ?? order.taskType,
    status: assignment.status,
    rewardStars: assignment.rewardStars,
    claimedAt: assignment.claimedAt.toISOString(),
    dueAt: assignment.dueAt.toISOString(),
    deliveredAt: assignedUnit?.deliveredAt?.toISOString() ?? null,
    quality: assignment.quality,
    reasons: [...assignment.reasons],
    rejection: assignedUnit?.rejection
      ? { reason: assignedUnit.rejection.reason, note: assignedUnit.rejection.note }
      : null,
    appealUntil: assignedUnit?.appealUntil?.toISOString() ?? null,
    appeal: assignedUnit?.appeal
      ? {
          text: assignedUnit.appeal.text,
          decision: assignedUnit.appeal.decision,
          decisionReason: assignedUnit.appeal.decisionReason,
        }
      : null,
  }
}

const readOrderAndUnit = async (tx: Tx, assignment: Assignment) => {
  const order = await findOrder(tx, assignment)
  if (!order)
    throw new Error(
      `order ${assignment.orderId} not found while presenting assignment ${assignment.assignmentId} (${assignment.status})`,
    )
  return { order, unit: await findUnit(tx, assignment) }
}

/** The summary of an assignment for its person. */
export const summarizeAssignment = async (tx: Tx, assignment: Assignment) => {
  const { order, unit } = await readOrderAndUnit(tx, assignment)
  return summaryOf(assignment, order, unit)
}

/** What the person is shown: the known-answer item in place of the unit, where there is one. */
export const readShownInput = async (tx: Tx, assignment: Assignment, order: Order): Promise<unknown> => {
  if (assignment.knownItem) return assignment.knownItem.input
  const [input] = await listUnitInputs(tx, order, [assignment])
  return input
}

/** An assignment with everything that the person needs to do it. */
export const presentAssignment = async (tx: Tx, assignment: Assignment) => {
  const { order, unit } = await readOrderAndUnit(tx, assignment)
  return {
    ...summaryOf(assignment, order, unit),
    site: assignment.site,
    challenge: assignment.challenge,
    instructions: order.instructions,
    steps: [...(order.terms?.steps ?? [])],
    estMinutes: order.terms?.estMinutes ?? 0,
    inputForm: order.terms?.inputForm ?? [],
    input: (await readShownInput(tx, assignment, order)) ?? null,
    answerForm: order.terms?.answerForm ?? [],
    answer: unit && isStillAssigned(assignment) ? (unit.answer ?? null) : null,
  }
}
