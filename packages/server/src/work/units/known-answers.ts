import type { Tx } from '../../platform/db/db.ts'
import type { PlatformLedger } from '../deps.ts'
import { matchesKnownAnswer } from '../workflows/forms.ts'
import { createPlatformOrder } from '../orders/platform-order.ts'
import { termsOf } from '../orders/create.ts'
import { updateOrderStarted, type Order } from '../orders/store.ts'
import {
  countAssignments,
  updateAssignment,
  updateWorkerPauseLifted,
  updateWorkerPaused,
  upsertWorkerAccuracy,
  type Assignment,
} from '../workers/store.ts'
import { findWorkflow } from '../workflows/store.ts'
import { knownAnswerShare, failsKnownAnswers, pauseDays, unitReference } from './rules.ts'
import { acceptUnit, lockUnit, missingAssignment, type LockedUnit } from './transitions.ts'
import { claimOnlyUnit } from './queue/store.ts'
import { updateUnitDecided, type Unit } from './store.ts'

type ClaimRequest = { readonly taskId: string; readonly mode: Unit['mode']; readonly personId: string }

/**
 * Claims a known-answer item in place of a buyer's unit: the first unit of a person in a workflow, then one in ten. The
 * operator pays for it. Undefined where none is due, or the workflow has no known-answer items.
 */
export const claimKnownAnswerItem = async (
  tx: Tx,
  platformLedger: PlatformLedger,
  request: ClaimRequest,
): Promise<Unit | undefined> => {
  const { mode, taskId } = request
  const workflow = await findWorkflow(tx, taskId)
  const [first] = workflow?.gold ?? []
  if (!workflow || !first) return undefined
  const assignmentCount = await countAssignments(tx, request)
  if (assignmentCount > 0 && tx.ids.randomFraction() >= knownAnswerShare) return undefined
  const item = workflow.gold[Math.floor(tx.ids.randomFraction() * workflow.gold.length)] ?? first
  const order = await createPlatformOrder(tx, platformLedger, {
    workflow,
    terms: { ...termsOf(workflow), goldAnswer: item.answer },
    mode,
    quantity: 1,
    items: [item.input],
    instructions: undefined,
    purpose: 'gold',
  })
  await updateOrderStarted(tx, order)
  return claimOnlyUnit(tx, order)
}

/** Grades the answer to a known-answer item. It is paid in any case; a wrong answer counts against the person. */
export const gradeKnownAnswer = async (
  tx: Tx,
  platformLedger: PlatformLedger,
  delivery: {
    readonly order: Order
    readonly assignment: Assignment
    readonly personId: string
    readonly answer: unknown
  },
): Promise<void> => {
  const { order, assignment, personId, answer } = delivery
  const isCorrect = matchesKnownAnswer(order.terms?.goldAnswer, answer)
  const { mode, taskId } = assignment
  const key = { personId, mode, taskId }
  const accuracy = await upsertWorkerAccuracy(tx, key, isCorrect)
  await updateAssignment(tx, assignment.assignmentId, {
    status: 'delivered',
    knownAnswerCorrect: isCorrect,
    reasons: isCorrect ? [] : ['known_answer_missed'],
  })
  if (!isCorrect && failsKnownAnswers(accuracy.knownAnswers, accuracy.correct))
    await updateWorkerPaused(tx, key, pauseDays)
  const locked = await lockUnit(tx, assignment)
  if (!locked)
    throw new Error(
      `unit ${unitReference(assignment.orderId, assignment.n)} of assignment ${assignment.assignmentId} not found while grading its known answer`,
    )
  await acceptUnit(tx, platformLedger, locked)
}

/** An operator decides the appeal of a wrong known answer: accepting it removes the miss and lifts a pause. */
export const decideKnownAnswerAppeal = async (
  tx: Tx,
  { unit, holder }: LockedUnit,
  ruling: { readonly decision: 'accepted' | 'refused'; readonly reason: string },
): Promise<void> => {
  if (!holder) throw missingAssignment(unit, 'deciding the appeal of its known answer')
  await updateUnitDecided(tx, unit, ruling)
  if (ruling.decision === 'refused') return
  const { personId, mode, taskId, assignmentId } = holder
  await updateAssignment(tx, assignmentId, { status: holder.status, knownAnswerCorrect: true, reasons: [] })
  if (personId !== null) await updateWorkerPauseLifted(tx, { personId, mode, taskId })
}
