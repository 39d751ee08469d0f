import type { Mode } from '@pohf/protocol'
import type { Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import type { Order } from '../orders/store.ts'
import { hasOwnContent, refusalsMax, reportersToHold, buyerRecordOf, waitingMax } from './rules.ts'
import { countReporters, countWaitingOfBuyer, listReviewedOrders, updateOrderReported } from './store.ts'

// Which orders an operator reviews. A buyer is an agent: a new one costs nothing and has no standing, so nobody gains by making
// another. BuyerRecord costs paid orders that an operator has read.

type Buyer = { readonly agentId: string; readonly mode: Mode }
type NewOrder = Parameters<typeof hasOwnContent>[0]

const findBuyerRecord = async (tx: Tx, buyer: Buyer) => buyerRecordOf(await listReviewedOrders(tx, buyer))

/** Whether an order will be reviewed once it is paid; refuses that of a buyer whose orders were refused too often. */
export const requiresReview = async (
  tx: Tx,
  { config }: Ctx,
  buyer: Buyer,
  order: NewOrder,
): Promise<boolean> => {
  // In the sandbox no operator reviews: test workers and simulated ones read what test keys ask.
  if (buyer.mode === 'test' || !hasOwnContent(order)) return false
  const { completed, refused } = await findBuyerRecord(tx, buyer)
  if (refused >= refusalsMax) throw new Refusal('orders_suspended')
  const isReviewed = completed < config.ORDER_REVIEWS || refused > 0
  if (isReviewed && (await countWaitingOfBuyer(tx, buyer, waitingMax)) >= waitingMax)
    throw new Refusal('order_conflict', {
      message: `${waitingMax} of your orders wait for the review of an operator. Order again when one is decided.`,
    })
  return isReviewed
}

/** Whether a paid order waits for a review. A refusal since it was placed counts. */
export const isHeldAtFunding = async (tx: Tx, order: Order): Promise<boolean> => {
  if (order.mode === 'test' || order.purpose !== 'buyer' || !hasOwnContent(order)) return false
  return order.review?.cause === 'new_buyer' || (await findBuyerRecord(tx, order)).refused > 0
}

/** Notes the report of a locked order, and holds it where enough people have reported it. Returns the order as it is now. */
export const noteReport = async (tx: Tx, order: Order): Promise<Order> => {
  const reporters = await countReporters(tx, order, reportersToHold)
  if (reporters === 0) return order
  const isHeld = order.isHeld || reporters >= reportersToHold
  await updateOrderReported(tx, order, isHeld && !order.isHeld)
  return { ...order, isHeld }
}
