import type { Tx } from '../../platform/db/db.ts'
import type { Books } from '../deps.ts'
import { isRight } from '../workflows/forms.ts'
import { orderByHouse } from '../orders/platform-order.ts'
import { termsOf } from '../orders/create.ts'
import { updateOrderBegun, type Order } from '../orders/store.ts'
import {
  countTaken,
  updateAssignment,
  updateStandingLifted,
  updateStandingPaused,
  upsertStanding,
  type Assignment,
} from '../workers/store.ts'
import { findWorkflow } from '../store.ts'
import { goldShare, isCareless, pauseDays } from './rules.ts'
import { acceptUnit, lockUnit, type Locked } from './transitions.ts'
import { claimUnitOf, updateUnitDecided, type Unit } from './store.ts'

type Wish = { readonly taskId: string; readonly mode: Unit['mode']; readonly personId: string }

/**
 * Now and then an item whose right answer is known, in place of a buyer's: the first of a person in a workflow, then
 * one in ten. The operator pays for it. Undefined where it is not the time, or nothing is known.
 */
export const claimGold = async (tx: Tx, books: Books, wish: Wish): Promise<Unit | undefined> => {
  const { mode, taskId } = wish
  const workflow = await findWorkflow(tx, taskId)
  const [first] = workflow?.gold ?? []
  if (!workflow || !first) return undefined
  const taken = await countTaken(tx, wish)
  if (taken > 0 && tx.ids.fraction() >= goldShare) return undefined
  const gold = workflow.gold[Math.floor(tx.ids.fraction() * workflow.gold.length)] ?? first
  const order = await orderByHouse(tx, books, {
    workflow,
    terms: { ...termsOf(workflow), goldAnswer: gold.answer },
    mode,
    quantity: 1,
    items: [gold.input],
    instructions: undefined,
    purpose: 'gold',
  })
  await updateOrderBegun(tx, order)
  return claimUnitOf(tx, order)
}

/** The answer to a known item counts for the person's standing. It is paid either way; a miss is told, with the reason. */
export const judgeGold = async (
  tx: Tx,
  books: Books,
  done: {
    readonly order: Order
    readonly assignment: Assignment
    readonly personId: string
    readonly answer: unknown
  },
): Promise<void> => {
  const { order, assignment, personId, answer } = done
  const right = isRight(order.terms?.goldAnswer, answer)
  const { mode, taskId } = assignment
  const key = { personId, mode, taskId }
  const standing = await upsertStanding(tx, key, right)
  await updateAssignment(tx, assignment.assignmentId, {
    status: 'delivered',
    goldRight: right,
    reasons: right ? [] : ['known_answer_missed'],
  })
  if (!right && isCareless(standing.golds, standing.right)) await updateStandingPaused(tx, key, pauseDays)
  const locked = await lockUnit(tx, assignment)
  if (!locked) throw new Error('a unit vanished')
  await acceptUnit(tx, books, locked)
}

/** An operator looked at a missed item: either the miss stands, or it is taken away, and a pause with it. */
export const decideGold = async (
  tx: Tx,
  { unit, holder }: Locked,
  decided: { readonly decision: 'accepted' | 'refused'; readonly reason: string },
): Promise<void> => {
  if (!holder) throw new Error('a known item that nobody did')
  await updateUnitDecided(tx, unit, decided)
  if (decided.decision === 'refused') return
  const { personId, mode, taskId, assignmentId } = holder
  await updateAssignment(tx, assignmentId, { status: holder.status, goldRight: true, reasons: [] })
  if (personId !== null) await updateStandingLifted(tx, { personId, mode, taskId })
}
