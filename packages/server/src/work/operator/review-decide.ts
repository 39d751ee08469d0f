import type { Operator } from '../../platform/http/call.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { cancelOpenUnits } from '../orders/cancel-open.ts'
import { findOrderForUpdate, type Order, type OrderKey } from '../orders/store.ts'
import type { ReviewDecision } from '../reviews/rules.ts'
import { updateOrderReviewed, updateReportsDecided } from '../reviews/store.ts'
import { claimableUntil } from '../units/rules.ts'
import { updateUnitsReady } from '../units/store.ts'
import type { OperatorDeps } from './produce.ts'
import { isWaiting, type WaitingOrder } from './reviews.ts'

type Input = OrderKey & { readonly decision: ReviewDecision; readonly reason?: string | undefined }

const requireWaiting = async (tx: Tx, key: OrderKey): Promise<WaitingOrder> => {
  const order = await findOrderForUpdate(tx, key)
  if (!order) throw new Refusal('not_found', { message: 'No such order.' })
  if (!isWaiting(order))
    throw new Refusal('order_conflict', { message: 'This order does not wait for a review.' })
  return order
}

const requireReason = ({ decision, reason }: Input): void => {
  if (decision === 'approved' || reason !== undefined) return
  throw new Refusal('validation_failed', {
    details: [
      { path: 'body.reason', code: 'missing', message: 'is required for a refusal: the buyer reads it' },
    ],
  })
}

/** People find the open units again, until the deadline of the question. */
const releaseUnits = (tx: Tx, order: Order): Promise<void> =>
  updateUnitsReady(tx, order, {
    taskId: order.workflowId ?? order.orderId,
    openUntil: claimableUntil(order.terms?.answerBy),
  })

/** Approves a new or reported order, or refuses it: its open units are refunded, what is claimed or delivered is paid. */
export const operatorReviewDecide = (
  { ctx, audit, unitDeps }: OperatorDeps,
  operator: Operator,
  input: Input,
) =>
  inTransaction(ctx, 'system', async (tx) => {
    requireReason(input)
    const { agentId, mode, orderId, decision, reason } = input
    const order = await requireWaiting(tx, { agentId, mode, orderId })
    const { cause } = order.review
    await updateOrderReviewed(tx, order, { decision, reason })
    await updateReportsDecided(tx, order, decision === 'refused')
    const isActive = order.status === 'funded' || order.status === 'in_progress'
    if (isActive && decision === 'approved' && order.isHeld) await releaseUnits(tx, order)
    if (isActive && decision === 'refused')
      await cancelOpenUnits(tx, unitDeps, order, 'an operator refused the order')
    await audit(tx, {
      operatorId: operator.operatorId,
      action: 'order.review',
      target: orderId,
      details: { agentId, mode, decision, cause, ...(reason === undefined ? {} : { reason }) },
    })
    return { orderId, decision }
  })
