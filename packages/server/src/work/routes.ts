import type { Settlement } from '../payments/index.ts'
import { route, type Audit, type Route } from '../platform/call.ts'
import type { Ctx } from '../platform/context.ts'
import { order } from './order.ts'
import { orderFund, type OpenCheckout } from './order-fund.ts'
import { operatorPurchases } from './operator-purchases.ts'
import { operatorRefund } from './operator-refund.ts'
import { purchaseRead } from './purchase-read.ts'
import { purchasesList } from './purchases-list.ts'
import { taskBuy, type BuyDeps } from './task-buy.ts'
import { tasksComplete, type RecordTaskSession } from './tasks-complete.ts'
import { tasksNext, type FindMode } from './tasks-next.ts'
import { workflowsAvailable } from './workflows-available.ts'

/** What app.ts hands down from modules that work does not know. */
export type Handed = {
  readonly openCheckout: OpenCheckout
  readonly findMode: FindMode
  readonly recordTaskSession: RecordTaskSession
  readonly shop: BuyDeps['shop']
  readonly houseAgentId: BuyDeps['houseAgentId']
}

/** The POST form may name its purchase in the body. */
const purchaseIdIn = (body: unknown): string | undefined =>
  typeof body === 'object' && body !== null && 'purchase_id' in body && typeof body.purchase_id === 'string'
    ? body.purchase_id
    : undefined

export const routes = (ctx: Ctx, handed: Handed): Route[] => [
  route('work.tasks-next', (call) => tasksNext(ctx, call.query.site, handed.findMode)),
  route('work.tasks-complete', (call) => tasksComplete(ctx, call.body, handed.recordTaskSession)),
  route('work.workflows-available', () => workflowsAvailable(ctx)),
  route('work.order', (call) => order(ctx, call.agent, call.body)),
  route('work.order-fund', (call) =>
    orderFund(ctx, call.agent, { orderId: call.body.orderId, open: handed.openCheckout }),
  ),
  route('work.task-buy', (call) =>
    taskBuy(
      { ctx, shop: handed.shop, houseAgentId: handed.houseAgentId },
      {
        workflowId: call.params.workflowId,
        payments: {
          'x-payment': call.header('x-payment'),
          'payment-signature': call.header('payment-signature'),
        },
        purchaseIds: [call.header('x-purchase-id'), call.query.purchase_id, purchaseIdIn(call.rawBody)],
        agent: call.agent,
        requestId: call.requestId,
      },
    ),
  ),
  route('work.purchase-read', (call) =>
    purchaseRead(ctx, { ...call.params, walletProof: call.header('x-wallet-proof') }),
  ),
  route('work.purchases-list', (call) => purchasesList(ctx, call.agent, call.query)),
]

export const operatorRoutes = (ctx: Ctx, audit: Audit, settlement: Settlement | undefined): Route[] => [
  route('work.operator-purchases', (call) => operatorPurchases(ctx, call.query)),
  route('work.operator-refund', (call) =>
    operatorRefund({ ctx, audit, settlement }, call.operator, { ...call.params, ...call.body }),
  ),
]
