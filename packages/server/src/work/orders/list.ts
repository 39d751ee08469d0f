import type { Agent } from '../../platform/http/call.ts'
import { inTransaction } from '../../platform/db/db.ts'
import type { BuyerDeps } from '../deps.ts'
import { listOrders } from './store.ts'
import type { OrderState } from '../rules.ts'
import { presentOrders } from './present.ts'

type Page = {
  readonly status?: OrderState | undefined
  readonly after?: string | undefined
  readonly limit?: number | undefined
}

export const ordersList = (deps: BuyerDeps, agent: Agent, { status, after, limit = 50 }: Page) =>
  inTransaction(deps.ctx, agent.agentId, async (tx) => {
    const { agentId, mode } = agent
    const orders = await listOrders(tx, { agentId, mode, status, after, limit })
    const last = orders.at(-1)
    return {
      orders: await presentOrders(tx, deps, orders),
      nextCursor: last && orders.length === limit ? last.orderId : null,
    }
  })
