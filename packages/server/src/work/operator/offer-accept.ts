import type { AnswerForm, Mode } from '@pohf/protocol'
import type { Operator } from '../../platform/http/call.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import {
  findOrder,
  findOrderForUpdate,
  updateOrderAccepted,
  type Order,
  type OrderKey,
} from '../orders/store.ts'
import { presentOrderToOperator } from './orders.ts'
import type { OperatorDeps } from './produce.ts'
import { updateUnitsReady } from '../units/store.ts'

type Input = {
  readonly agentId: string
  readonly orderId: string
  readonly mode: Mode
  readonly title: string
  readonly steps: readonly string[]
  readonly estMinutes: number
  readonly rewardStars: number
  readonly answerForm: AnswerForm
}

/** Locks an offer that is not decided yet; refuses any other order. */
export const requireOffer = async (tx: Tx, key: OrderKey): Promise<Order> => {
  const order = await findOrderForUpdate(tx, key)
  if (!order) throw new Refusal('not_found', { message: 'No such order.' })
  if (!order.waitsForOperator)
    throw new Refusal('order_conflict', {
      message: `This order is ${order.status} and does not wait for an operator.`,
    })
  return order
}
export const presentCurrentOrder = async (tx: Tx, key: OrderKey) => {
  const order = await findOrder(tx, key)
  if (!order) throw new Error(`order ${key.orderId} of ${key.agentId} not found after its offer was decided`)
  return presentOrderToOperator(order)
}

/** Accepts an offer: once it is paid, people can claim its units. */
export const operatorOfferAccept = ({ ctx, audit }: OperatorDeps, operator: Operator, input: Input) =>
  inTransaction(ctx, 'system', async (tx) => {
    const { agentId, mode, orderId, title, steps, estMinutes, rewardStars, answerForm } = input
    const key = { agentId, mode, orderId }
    const order = await requireOffer(tx, key)
    // The cheapest unit: prices differ by one cent at most.
    const unitUsdCents = order.totalUsdCents / BigInt(order.quantity)
    if (BigInt(rewardStars) > unitUsdCents)
      throw new Refusal('validation_failed', {
        details: [
          {
            path: 'body.rewardStars',
            code: 'too_big',
            message: `must be at most ${unitUsdCents}: a unit costs ${unitUsdCents} cents, and a Star is worth one cent`,
          },
        ],
      })
    await updateOrderAccepted(tx, key, {
      title,
      description: order.terms?.description ?? order.taskType,
      category: order.terms?.category ?? 'custom',
      steps,
      estMinutes,
      rewardStars,
      inputForm: order.terms?.inputForm ?? [],
      answerForm,
      samples: order.terms?.samples ?? [],
    })
    await updateUnitsReady(tx, key, { taskId: order.orderId })
    await audit(tx, {
      operatorId: operator.operatorId,
      action: 'offer.accept',
      target: orderId,
      details: { agentId, mode, rewardStars },
    })
    return presentCurrentOrder(tx, key)
  })
