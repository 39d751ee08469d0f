import type { Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { findOrder } from './store.ts'
import { presentOrder } from './present.ts'

export const orderRead = (ctx: Ctx, agent: Agent, orderId: string) =>
  inTransaction(ctx, agent.agentId, async (tx) => {
    const order = await findOrder(tx, { agentId: agent.agentId, mode: agent.mode, orderId })
    if (!order) throw new Refusal('not_found', { message: 'No such order.' })
    return presentOrder(tx, order)
  })
