import type { Agent } from '../../platform/http/call.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { BuyerDeps } from '../deps.ts'
import { findOrder } from './store.ts'
import { presentOrder } from './present.ts'

export const orderRead = (deps: BuyerDeps, agent: Agent, orderId: string) =>
  inTransaction(deps.ctx, agent.agentId, async (tx) => {
    const order = await findOrder(tx, { agentId: agent.agentId, mode: agent.mode, orderId })
    if (!order) throw new Refusal('not_found', { message: 'No such order.' })
    return presentOrder(tx, deps, order)
  })
