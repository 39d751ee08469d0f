import type { Agent } from '../../platform/http/call.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { BuyerDeps, UnitDeps } from '../deps.ts'
import { findOrder, findOrderForUpdate } from './store.ts'
import { presentOrder } from './present.ts'
import { cancelOpenUnits } from './cancel-open.ts'

type CancelDeps = BuyerDeps & Pick<UnitDeps, 'returnPurchase'>

/** Cancels the open units of an order. Units that are claimed or delivered continue and are paid. */
export const orderCancel = (deps: CancelDeps, agent: Agent, orderId: string) =>
  inTransaction(deps.ctx, agent.agentId, async (tx) => {
    const key = { agentId: agent.agentId, mode: agent.mode, orderId }
    const order = await findOrderForUpdate(tx, key)
    if (!order) throw new Refusal('not_found', { message: 'No such order.' })
    if (order.status === 'cancelled') return presentOrder(tx, deps, order)
    if (!['created', 'funded', 'in_progress'].includes(order.status))
      throw new Refusal('order_conflict', {
        message: `This order is ${order.status}: it has no open units to cancel.`,
      })
    await cancelOpenUnits(tx, deps, order, 'the order was cancelled')
    const cancelled = await findOrder(tx, key)
    if (!cancelled) throw new Error(`order ${orderId} of ${agent.agentId} not found after it was cancelled`)
    return presentOrder(tx, deps, cancelled)
  })
