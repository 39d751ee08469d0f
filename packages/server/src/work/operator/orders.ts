import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { listAllOrders, type Order } from '../orders/store.ts'
import { usdOf } from '../rules.ts'

type Page = {
  readonly waiting?: '0' | '1' | undefined
  readonly after?: string | undefined
  readonly limit?: number | undefined
}

/** An order as operators see it. */
export const presentOrderToOperator = (order: Order) => ({
  agentId: order.agentId,
  mode: order.mode,
  orderId: order.orderId,
  status: order.status,
  taskType: order.taskType,
  instructions: order.instructions,
  items: order.itemCount,
  quantity: order.quantity,
  totalUsd: usdOf(order.totalUsdCents),
  createdAt: order.createdAt.toISOString(),
  fundedAt: order.fundedAt?.toISOString() ?? null,
  waitsForOperator: order.waitsForOperator,
})

export const operatorOrders = (ctx: Ctx, { waiting = '0', after, limit = 50 }: Page) =>
  inTransaction(ctx, 'system', async (tx) => {
    const orders = await listAllOrders(tx, { waiting: waiting === '1', after, limit })
    const last = orders.at(-1)
    return {
      orders: orders.map(presentOrderToOperator),
      nextCursor: last && orders.length === limit ? last.orderId : null,
    }
  })
