import { usdCentsOfMicro } from '../../payments/index.ts'
import type { Tx } from '../../platform/db/db.ts'
import { fundByPurchase, lockOrderToPay, refundByPurchase, reverseByPurchase } from '../../work/index.ts'
import type { PurchaseSettlement } from '../flow.ts'
import type { Purchase } from '../store.ts'

// What a purchase does to the question that it pays: the order is funded, stopped or marked as refunded, in the
// transaction that changes the purchase. The order is locked first, as everywhere in `work`.

type OrderOfPurchase = { readonly key: OrderKey; readonly payment: OrderPayment }
type OrderKey = Pick<Purchase, 'agentId' | 'mode'> & { readonly orderId: string }
type OrderPayment = { readonly purchaseId: string; readonly usdCents: bigint }

const orderOf = (purchase: Purchase): OrderOfPurchase | undefined => {
  const { agentId, mode, orderId, purchaseId, amountUsdcMicro } = purchase
  if (orderId === null) return undefined
  return {
    key: { agentId, mode, orderId },
    payment: { purchaseId, usdCents: usdCentsOfMicro(amountUsdcMicro) },
  }
}

/** Locks the order of a purchase that pays a question. */
export const lockQuestion = async (tx: Tx, purchase: Purchase): Promise<void> => {
  const order = orderOf(purchase)
  if (order) await lockOrderToPay(tx, order.key)
}

/** Stops the question whose payment the chain has undone. */
export const reverseQuestion = async (
  tx: Tx,
  { unitDeps }: Pick<PurchaseSettlement, 'unitDeps'>,
  purchase: Purchase,
): Promise<void> => {
  const order = orderOf(purchase)
  if (order) await reverseByPurchase(tx, unitDeps, order.key, order.payment)
}

/** Ends the question whose payment was sent back to the wallet. */
export const refundQuestion = async (tx: Tx, purchase: Purchase): Promise<void> => {
  const order = orderOf(purchase)
  if (order) await refundByPurchase(tx, order.key, order.payment)
}

/** Funds the question; false where it no longer waits for this money. */
export const fundQuestion = async (tx: Tx, purchase: Purchase): Promise<boolean> => {
  const order = orderOf(purchase)
  return order !== undefined && fundByPurchase(tx, order.key, order.payment)
}
