import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { findOrder, type Order } from '../orders/store.ts'
import { countReporters, listReviewKeys } from '../reviews/store.ts'
import { usdOf } from '../rules.ts'

const reportersMax = 100

/** An order that waits for a review. */
export type WaitingOrder = Order & {
  readonly review: NonNullable<Order['review']> & { readonly since: Date }
}
export const isWaiting = (order: Order): order is WaitingOrder => (order.review?.since ?? null) !== null

export const presentReviewToOperator = async (tx: Tx, order: WaitingOrder) => ({
  agentId: order.agentId,
  mode: order.mode,
  orderId: order.orderId,
  status: order.status,
  title: order.terms?.title ?? order.taskType,
  cause: order.review.cause,
  held: order.isHeld,
  since: order.review.since.toISOString(),
  until: order.terms?.answerBy ?? null,
  quantity: order.quantity,
  totalUsd: usdOf(order.totalUsdCents),
  reporters: await countReporters(tx, order, reportersMax),
})

/** The orders that wait for a review, oldest first. */
export const operatorReviews = (ctx: Ctx, limit = 50) =>
  inTransaction(ctx, 'system', async (tx) => {
    const reviews = []
    for (const key of await listReviewKeys(tx, limit)) {
      const order = await findOrder(tx, key)
      if (order && isWaiting(order)) reviews.push(await presentReviewToOperator(tx, order))
    }
    return { reviews }
  })
