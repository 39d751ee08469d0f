import type { Settlement } from '../payments/index.ts'
import { route, type Audit, type Route } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { payFor, type BuyDeps } from './buy.ts'
import { purchasesList } from './list.ts'
import { operatorPurchases } from './operator-purchases.ts'
import { operatorRefund } from './operator-refund.ts'
import { purchaseRead } from './read.ts'
import { makeStockProduct } from './stock.ts'

/** The POST form may name its purchase in the body. */
const purchaseIdIn = (body: unknown): string | undefined =>
  typeof body === 'object' && body !== null && 'purchase_id' in body && typeof body.purchase_id === 'string'
    ? body.purchase_id
    : undefined

type ProductDeps = BuyDeps & Parameters<typeof makeStockProduct>[0]

export const routes = (deps: ProductDeps): Route[] => {
  const { ctx } = deps
  return [
    route('purchases.buy', (call) =>
      payFor(deps, {
        product: makeStockProduct(deps, call.params.workflowId, call.agent),
        payments: {
          'x-payment': call.header('x-payment'),
          'payment-signature': call.header('payment-signature'),
        },
        purchaseIds: [call.header('x-purchase-id'), call.query.purchase_id, purchaseIdIn(call.rawBody)],
        agent: call.agent,
        address: call.address,
        requestId: call.requestId,
      }),
    ),
    route('purchases.read', (call) =>
      purchaseRead(ctx, { ...call.params, walletProof: call.header('x-wallet-proof') }),
    ),
    route('purchases.list', (call) => purchasesList(ctx, call.agent, call.query)),
  ]
}

type OperatorDeps = {
  readonly ctx: Ctx
  readonly audit: Audit
  readonly settlement: Settlement | undefined
}

export const operatorRoutes = (deps: OperatorDeps): Route[] => [
  route('purchases.operator-purchases', (call) => operatorPurchases(deps.ctx, call.query)),
  route('purchases.operator-refund', (call) =>
    operatorRefund(deps, call.operator, { ...call.params, ...call.body }),
  ),
]
