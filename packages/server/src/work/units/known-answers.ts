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
import { findWorkflow } from '../store.ts'
import { knownAnswerShare, failsKnownAnswers, pauseDays } from './rules.ts'
import { acceptUnit, lockUnit, type LockedUnit } from './transitions.ts'
import { claimOnlyUnit, updateUnitDecided, type Unit } from './store.ts'

type ClaimRequest = { readonly taskId: string; readonly mode: Unit['mode']; readonly personId: string }

/**
 * Now and then an item whose right answer is known, in place of a buyer's: the first of a person in a workflow, then
 * one in ten. The operator pays for it. Undefined where it is not the time, or nothing is known.
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

/** The answer to a known item counts for the person's standing. It is paid either way; a miss is told, with the reason. */
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
  const right = matchesKnownAnswer(order.terms?.goldAnswer, answer)
  const { mode, taskId } = assignment
  const key = { personId, mode, taskId }
  const accuracy = await upsertWorkerAccuracy(tx, key, right)
  await updateAssignment(tx, assignment.assignmentId, {
    status: 'delivered',
    knownAnswerCorrect: right,
    reasons: right ? [] : ['known_answer_missed'],
  })
  if (!right && failsKnownAnswers(accuracy.knownAnswers, accuracy.correct))
    await updateWorkerPaused(tx, key, pauseDays)
  const locked = await lockUnit(tx, assignment)
  if (!locked) throw new Error('unit not found while grading a known-answer item')
  await acceptUnit(tx, platformLedger, locked)
}

/** An operator looked at a missed item: either the miss stands, or it is taken away, and a pause with it. */
export const decideKnownAnswerAppeal = async (
  tx: Tx,
  { unit, holder }: LockedUnit,
  decided: { readonly decision: 'accepted' | 'refused'; readonly reason: string },
): Promise<void> => {
  if (!holder) throw new Error('known-answer unit has no assignment')
  await updateUnitDecided(tx, unit, decided)
  if (decided.decision === 'refused') return
  const { personId, mode, taskId, assignmentId } = holder
  await updateAssignment(tx, assignmentId, { status: holder.status, knownAnswerCorrect: true, reasons: [] })
  if (personId !== null) await updateWorkerPauseLifted(tx, { personId, mode, taskId })
}
