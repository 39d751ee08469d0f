import { createHash } from 'node:crypto'
import type { KnownAnswer, OrderTerms } from '../../platform/db/columns.ts'
import type { Tx } from '../../platform/db/db.ts'
import type { Session } from '../../sessions/index.ts'
import type { UnitDeps } from '../deps.ts'
import { createPlatformOrder } from '../orders/platform-order.ts'
import { updateOrderStarted, type Order } from '../orders/store.ts'
import { matchesKnownAnswer } from '../workflows/forms.ts'
import { findWorkflow } from '../workflows/store.ts'
import {
  listSeenKnownAnswers,
  updateAssignmentKnownAnswer,
  updateWorkerPauseLifted,
  updateWorkerPaused,
  upsertWorkerAccuracy,
  type Assignment,
} from '../workers/store.ts'
import { claimOnlyUnit } from './queue/store.ts'
import {
  failsKnownAnswers,
  gradingMinutesOf,
  isKnownAnswerDue,
  pauseDays,
  personalFractionOf,
  reopenMinutesOf,
  unitReference,
} from './rules.ts'
import { listReviewMinutes, type Unit } from './store.ts'
import { acceptUnit, rejectUnit, reopenUnit, type LockedUnit } from './transitions.ts'

// A known-answer item is shown in place of a unit that the person has claimed, with the site, the terms and the
// instructions of that unit. Delivered, it becomes a unit of an order of the platform agent, which the operator pays,
// and the claimed unit is open again. It waits for its review like any other unit: a right answer is accepted, a wrong
// one rejected, and the person can appeal.

const hashOf = (input: unknown): string =>
  createHash('sha256').update(JSON.stringify(input)).digest('base64url')

type Claim = {
  readonly key: Buffer
  readonly personId: string
  readonly taskId: string
  readonly order: Order
  readonly unit: Unit
}
const serializeForms = ({ inputForm, answerForm }: Pick<OrderTerms, 'inputForm' | 'answerForm'>): string =>
  JSON.stringify([inputForm, answerForm])
/** The items of the workflow, where the order has its present forms: an older order would show them in other forms. */
const listItemsFor = async (tx: Tx, { taskId, order }: Claim): Promise<readonly KnownAnswer[]> => {
  const workflow = await findWorkflow(tx, taskId)
  return workflow && order.terms && serializeForms(workflow) === serializeForms(order.terms)
    ? workflow.gold
    : []
}
/** The known-answer item to show in place of a claimed unit; undefined where the person does the unit itself. */
export const findKnownAnswerItem = async (tx: Tx, claim: Claim): Promise<KnownAnswer | undefined> => {
  const { key, personId, taskId, unit } = claim
  // Both are read for every unit, so that a claim takes the same time.
  const items = await listItemsFor(tx, claim)
  const seen = await listSeenKnownAnswers(tx, { personId, mode: unit.mode, taskId })
  if (!isKnownAnswerDue(key, personId, unit)) return undefined
  if (seen.some(({ covered }) => covered === unitReference(unit.orderId, unit.n))) return undefined
  const seenHashes = new Set(seen.map(({ input }) => hashOf(input)))
  const rankOf = (item: KnownAnswer) =>
    personalFractionOf(key, personId, `${unitReference(unit.orderId, unit.n)} ${hashOf(item.input)}`)
  return items
    .filter(({ input }) => !seenHashes.has(hashOf(input)))
    .toSorted((a, b) => rankOf(a) - rankOf(b))[0]
}

type NewKnownAnswer = {
  readonly assignment: Assignment
  readonly item: KnownAnswer
  readonly answer: unknown
  readonly session: Pick<Session, 'sessionId' | 'quality'>
}
/** The order and the unit that receive the answer to a known-answer item. */
export type KnownAnswerDelivery = {
  readonly order: Order
  readonly unit: Unit
  readonly reviewMinutes: number
}

/**
 * Moves an assignment from the unit that it covered to a unit of the operator's own order. The covered unit is open
 * again some time later: if it returned at once, the number of open units would tell the item.
 */
export const moveToKnownAnswerOrder = async (
  tx: Tx,
  unitDeps: UnitDeps,
  covered: LockedUnit,
  delivery: NewKnownAnswer,
): Promise<KnownAnswerDelivery> => {
  const { assignment, item, answer, session } = delivery
  const { terms, workflowId, instructions } = covered.order
  if (!terms || workflowId === null)
    throw new Error(
      `order ${covered.order.orderId} has no ${terms ? 'workflow' : 'terms'} while delivering a known-answer item for it`,
    )
  const isCorrect = matchesKnownAnswer(item.answer, answer)
  const observed = await listReviewMinutes(tx, covered.order, isCorrect ? 'accepted' : 'rejected')
  const order = await createPlatformOrder(tx, unitDeps, {
    workflowId,
    terms: { ...terms, rewardStars: assignment.rewardStars, goldAnswer: item.answer },
    mode: assignment.mode,
    quantity: 1,
    items: [item.input],
    instructions: instructions ?? undefined,
    purpose: 'gold',
  })
  await updateOrderStarted(tx, order)
  const unit = await claimOnlyUnit(tx, order)
  if (!unit) throw new Error(`order ${order.orderId} has no unit while delivering a known-answer item`)
  const { sessionId, quality } = session
  await updateAssignmentKnownAnswer(tx, assignment, { unit, isCorrect, sessionId, quality })
  await reopenUnit(tx, unitDeps, covered, { afterMinutes: reopenMinutesOf(tx.ids.randomFraction()) })
  return {
    order: { ...order, status: 'in_progress' },
    unit,
    reviewMinutes: gradingMinutesOf(isCorrect, observed, tx.ids.randomFraction()),
  }
}

/** Grades a known-answer item: a right answer is paid, a wrong one is not and counts against the person. */
export const gradeKnownAnswer = async (tx: Tx, unitDeps: UnitDeps, locked: LockedUnit): Promise<void> => {
  const { order, unit, holder } = locked
  const isCorrect = matchesKnownAnswer(order.terms?.goldAnswer, unit.answer)
  if (holder && holder.personId !== null) {
    const { personId, mode, taskId } = holder
    const accuracy = await upsertWorkerAccuracy(tx, { personId, mode, taskId }, isCorrect)
    if (!isCorrect && failsKnownAnswers(accuracy.knownAnswers, accuracy.correct))
      await updateWorkerPaused(tx, { personId, mode, taskId }, pauseDays)
  }
  if (isCorrect) await acceptUnit(tx, unitDeps, locked)
  else await rejectUnit(tx, unitDeps, locked, { reason: 'wrong_answer', note: undefined })
}

/** After an accepted appeal the answer counts as right, and a pause is over. */
export const countAsCorrect = async (tx: Tx, { holder }: LockedUnit): Promise<void> => {
  if (!holder || holder.personId === null) return
  const { personId, mode, taskId } = holder
  await updateWorkerPauseLifted(tx, { personId, mode, taskId })
}
