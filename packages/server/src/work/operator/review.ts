import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { findOrder, listItems, type OrderKey } from '../orders/store.ts'
import { buyerRecordOf } from '../reviews/rules.ts'
import { countReportsOfBuyer, listOpenReports, listReviewedOrders } from '../reviews/store.ts'
import { isWaiting, presentReviewToOperator } from './reviews.ts'

/** All that workers would read of an order, what they say about it, and the record of its buyer. */
export const operatorReview = (ctx: Ctx, { agentId, mode, orderId }: OrderKey) =>
  inTransaction(ctx, 'system', async (tx) => {
    const order = await findOrder(tx, { agentId, mode, orderId })
    if (!order || !isWaiting(order))
      throw new Refusal('not_found', { message: 'No such order waits for a review.' })
    const indexes = Array.from({ length: order.itemCount }, (_, index) => index)
    const reports = await listOpenReports(tx, order)
    return {
      ...(await presentReviewToOperator(tx, order)),
      instructions: order.instructions,
      items: [...(await listItems(tx, order, indexes)).values()],
      answerForm: order.terms?.answerForm ?? [],
      reports: reports.map(({ at, ...report }) => ({ at: at.toISOString(), ...report })),
      buyer: {
        ...buyerRecordOf(await listReviewedOrders(tx, order)),
        reports: await countReportsOfBuyer(tx, order),
      },
    }
  })
