import { post } from '../../ledger/index.ts'
import type { Tx } from '../../platform/db/db.ts'
import { publish } from '../../platform/queue/outbox.ts'
import type { Books } from '../deps.ts'
import { returnMoney } from '../orders/escrow.ts'
import { moveOrder } from '../orders/transitions.ts'
import { findOrderForUpdate, type Order } from '../orders/store.ts'
import { findHolderForUpdate, insertEarning, updateAssignment, type Assignment } from '../workers/store.ts'
import {
  housePaymentLines,
  paymentLines,
  starLines,
  unitReference,
  vestingDays,
  vestingOf,
  workAccounts,
  type RejectReason,
} from './rules.ts'
import {
  countUnits,
  findUnitForUpdate,
  updateUnitAccepted,
  updateUnitAppealed,
  updateUnitCancelled,
  updateUnitDecided,
  updateUnitFreed,
  updateUnitRefused,
  updateUnitRejected,
  type Unit,
  type UnitKey,
} from './store.ts'

export type Locked = { readonly order: Order; readonly unit: Unit; readonly holder: Assignment | undefined }

/** Locks in the order in which everybody does: the order, the unit, who works on it; value comes last. */
export const lockUnit = async (tx: Tx, key: UnitKey): Promise<Locked | undefined> => {
  const order = await findOrderForUpdate(tx, key)
  const unit = order && (await findUnitForUpdate(tx, key))
  return unit && { order, unit, holder: await findHolderForUpdate(tx, key) }
}

const aboutUnit = (unit: Unit) => ({
  agentId: unit.agentId,
  mode: unit.mode,
  subject: unit.orderId,
  data: { orderId: unit.orderId, n: unit.n, credentialId: unit.credentialId ?? '' },
})

/** Brings the order to where its units are. It must be locked. */
export const refreshOrder = async (tx: Tx, order: Order): Promise<void> => {
  const tallies = (await countUnits(tx, order, [order.orderId])).get(order.orderId) ?? []
  const has = (...states: readonly string[]) => tallies.some(({ status }) => states.includes(status))
  let { status } = order
  if (status === 'funded' && !has('open') && !has('claimed')) {
    await moveOrder(tx, order, 'expired')
    return
  }
  if (status === 'in_progress' && !has('open', 'claimed')) {
    await moveOrder(tx, order, 'delivered')
    status = 'delivered'
  }
  if (status === 'delivered' && !has('open', 'claimed', 'delivered', 'rejected', 'appealed'))
    await moveOrder(tx, order, 'completed')
}

/** The buyer's money becomes ours and the person's; once for each unit, or the transaction fails. */
const pay = async (tx: Tx, books: Books, { order, unit }: Locked, worker: Assignment): Promise<void> => {
  const reference = unitReference(order.orderId, unit.n)
  const house = { agentId: books.houseOf(order.mode), mode: order.mode }
  const payer = unit.housePays ? house : { agentId: order.agentId, mode: order.mode }
  const { rewardStars } = worker
  const lines = unit.housePays
    ? housePaymentLines(rewardStars)
    : paymentLines(order.orderId, unit.priceUsdCents, rewardStars)
  const postings = [
    ...(lines.length > 0 ? [{ ...payer, kind: 'unit_payment', reference, lines }] : []),
    ...(rewardStars > 0
      ? [
          {
            ...house,
            kind: 'unit_stars',
            reference,
            lines: starLines(workAccounts.stars, vestingOf(worker.worker), BigInt(rewardStars)),
          },
        ]
      : []),
  ]
  await insertEarning(tx, {
    unit,
    worker: worker.worker,
    stars: rewardStars,
    vestingDays: order.purpose === 'buyer' ? vestingDays : 0,
  })
  for (const posting of postings)
    if ((await post(tx, posting)).repeated) throw new Error('a unit would be paid twice')
}

/** Yes: the person is paid. */
export const acceptUnit = async (tx: Tx, books: Books, locked: Locked): Promise<void> => {
  const { order, unit, holder } = locked
  if (!holder) throw new Error('a delivered unit that nobody did')
  await pay(tx, books, locked, holder)
  const toStock = order.purpose === 'stock' || (unit.housePays && order.itemCount === 0)
  await updateUnitAccepted(tx, unit, { toStock })
  await updateAssignment(tx, holder.assignmentId, { status: 'accepted' })
  await publish(tx, { ...aboutUnit(unit), type: 'order.unit_accepted' })
  await refreshOrder(tx, order)
}

/** No, and why. The person may appeal. */
export const rejectUnit = async (
  tx: Tx,
  { order, unit, holder }: Locked,
  rejection: { readonly reason: RejectReason; readonly note: string | undefined },
): Promise<void> => {
  if (!holder) throw new Error('a delivered unit that nobody did')
  await updateUnitRejected(tx, unit, rejection)
  await updateAssignment(tx, holder.assignmentId, { status: 'rejected' })
  const { data, ...about } = aboutUnit(unit)
  await publish(tx, { ...about, type: 'order.unit_rejected', data: { ...data, reason: rejection.reason } })
  await refreshOrder(tx, order)
}

export const appealUnit = async (tx: Tx, { unit, holder }: Locked, text: string): Promise<void> => {
  if (!holder) throw new Error('a rejected unit that nobody did')
  await updateUnitAppealed(tx, unit, text)
  await updateAssignment(tx, holder.assignmentId, { status: 'appealed' })
  await publish(tx, { ...aboutUnit(unit), type: 'order.unit_appealed' })
}

/** The no stands: nobody is paid, and the money goes back. */
export const refuseUnit = async (tx: Tx, { order, unit, holder }: Locked): Promise<void> => {
  if (!holder) throw new Error('a rejected unit that nobody did')
  await updateUnitRefused(tx, unit)
  await updateAssignment(tx, holder.assignmentId, { status: 'refused' })
  if (!unit.housePays)
    await returnMoney(tx, order, {
      usdCents: unit.priceUsdCents,
      reference: unitReference(order.orderId, unit.n),
      reason: 'a unit was refused',
    })
  await publish(tx, { ...aboutUnit(unit), type: 'order.unit_refused' })
  await refreshOrder(tx, order)
}

/** An operator decides an appeal. */
export const decideUnit = async (
  tx: Tx,
  books: Books,
  locked: Locked,
  decided: { readonly decision: 'accepted' | 'refused'; readonly reason: string },
): Promise<void> => {
  await updateUnitDecided(tx, locked.unit, decided)
  if (decided.decision === 'accepted') await acceptUnit(tx, books, locked)
  else await refuseUnit(tx, locked)
}

type Freed = {
  readonly status: 'returned' | 'ran_out' | 'not_verified'
  readonly sessionId?: string
  readonly quality?: number | null
  readonly reasons?: readonly string[]
}
/** Nobody works on it any more. It waits for the next person, or ends with an order that is over. */
export const freeUnit = async (tx: Tx, { order, unit, holder }: Locked, freed: Freed): Promise<void> => {
  if (!holder) throw new Error('a claimed unit that nobody has')
  await updateAssignment(tx, holder.assignmentId, freed)
  const isOver = ['cancelled', 'expired', 'refunded'].includes(order.status) || order.purpose === 'gold'
  if (!isOver) {
    await updateUnitFreed(tx, unit)
    return
  }
  await updateUnitCancelled(tx, unit)
  await returnMoney(tx, order, {
    usdCents: unit.priceUsdCents,
    reference: unitReference(order.orderId, unit.n),
    reason: 'a unit of an order that is over was not done',
  })
  await refreshOrder(tx, order)
}
