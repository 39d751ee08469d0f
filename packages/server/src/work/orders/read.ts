import type { Agent } from '../platform/call.ts'
import type { Ctx } from '../platform/context.ts'
import { inTransaction } from '../platform/db.ts'
import { Refusal } from '../platform/errors.ts'
import { findOrder } from './orders/store.ts'
import { showOrder } from './show-order.ts'

export const orderRead = (ctx: Ctx, agent: Agent, orderId: string) =>
  inTransaction(ctx, agent.agentId, async (tx) => {
    const order = await findOrder(tx, { agentId: agent.agentId, mode: agent.mode, orderId })
    if (!order) throw new Refusal('not_found', { message: 'No such order.' })
    return showOrder(tx, order)
  })
