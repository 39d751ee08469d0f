import { post } from '../../ledger/index.ts'
import { readNow, type Tx } from '../../platform/db/db.ts'
import type { UnitDeps } from '../deps.ts'
import { chainAccounts, transferLines } from '../rules.ts'
import { clawBackStars, stopOrderAfterChargeback, withdrawAfterChargeback } from '../units/chargeback.ts'
import { claimableUntil } from '../units/rules.ts'
import { listUnitsByState } from '../units/store.ts'
import { postReversal } from './escrow.ts'
import { fundOrder } from './fund.ts'
import { findOrderForUpdate, updateOrderFundedBy, type Order, type OrderKey } from './store.ts'
import { changeOrderStatus } from './transitions.ts'

// The payment of an order over HTTP 402. `purchases` settles it on the chain and calls these in its transactions; each
// locks the order before anything else.

type OrderPurchase = { readonly purchaseId: string; readonly usdCents: bigint }

/** A settlement takes seconds; a payment that starts later than this before the last claim could come too late. */
const settleMs = 120_000

/** Whether an order still waits for money, and whether a worker could still claim its unit after `leadMs`. */
const paymentStateOf = (order: Order, now: Date, leadMs: number): 'payable' | 'not_waiting' | 'too_late' => {
  if (order.status !== 'created' || order.isExpired || order.waitsForOperator) return 'not_waiting'
  const openUntil = claimableUntil(order.terms?.answerBy)
  return openUntil && openUntil.getTime() - leadMs <= now.getTime() ? 'too_late' : 'payable'
}

/** Locks an order that is about to be paid; undefined where the agent has none. */
export const lockOrderToPay = async (tx: Tx, key: OrderKey) => {
  const order = await findOrderForUpdate(tx, key)
  return order && { order, state: paymentStateOf(order, await readNow(tx), settleMs) }
}

/**
 * Funds an order with a settled purchase. False where it no longer waits for this money: it was paid in another way, was
 * cancelled, or nobody could claim it any more. Then the caller returns the payment.
 */
export const fundByPurchase = async (tx: Tx, key: OrderKey, purchase: OrderPurchase): Promise<boolean> => {
  const order = await findOrderForUpdate(tx, key)
  if (!order || purchase.usdCents !== order.totalUsdCents) return false
  if (paymentStateOf(order, await readNow(tx), 0) !== 'payable') return false
  await updateOrderFundedBy(tx, key, purchase.purchaseId)
  await fundOrder(tx, order, {
    reference: purchase.purchaseId,
    amountUsdCents: purchase.usdCents,
    from: chainAccounts.world,
  })
  return true
}

/** Posts that the wallet has its money back, and ends the order as refunded. Nothing where the purchase never paid it. */
export const refundByPurchase = async (tx: Tx, key: OrderKey, purchase: OrderPurchase): Promise<void> => {
  const { purchaseId, usdCents } = purchase
  const order = await findOrderForUpdate(tx, key)
  if (order?.purchaseId !== purchaseId) return
  await post(tx, {
    agentId: key.agentId,
    mode: key.mode,
    kind: 'order_reversal',
    reference: purchaseId,
    lines: transferLines(chainAccounts.unused, chainAccounts.world, usdCents),
  })
  if (['cancelled', 'expired'].includes(order.status)) await changeOrderStatus(tx, order, 'refunded')
}

/** What the units of an order have paid to people; an accepted unit that the platform pays has left the escrow unpaid. */
const findPaidUsdCents = async (tx: Tx, key: OrderKey): Promise<bigint> => {
  const accepted = await listUnitsByState(tx, key, ['accepted'])
  return accepted
    .filter(({ platformPays }) => !platformPays)
    .reduce((sum, { priceUsdCents }) => sum + priceUsdCents, 0n)
}

/** Stops an order whose payment the chain has undone, as a chargeback does. Nothing where the purchase never paid it. */
export const reverseByPurchase = async (
  tx: Tx,
  unitDeps: UnitDeps,
  key: OrderKey,
  { purchaseId, usdCents }: OrderPurchase,
): Promise<void> => {
  const order = await findOrderForUpdate(tx, key)
  if (order?.purchaseId !== purchaseId) return
  const stopped = await stopOrderAfterChargeback(tx, order, purchaseId)
  const owedUsdCents = await postReversal(tx, {
    key,
    accounts: chainAccounts,
    isInEscrow: true,
    reference: purchaseId,
    amountUsdCents: usdCents,
    ownRefundsUsdCents: 0n,
    // The part of the unused account that came from this order. The rest is to be refunded for other questions of the agent.
    unusedMaxUsdCents: usdCents - (await findPaidUsdCents(tx, key)),
  })
  const clawedBack = await clawBackStars(tx, unitDeps, order, owedUsdCents)
  await withdrawAfterChargeback(tx, unitDeps, order, {
    numbers: [...stopped, ...clawedBack],
    isWholePayment: true,
    isDisputed: false,
  })
}
