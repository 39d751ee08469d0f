import { route, type Audit, type Route } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import type { Settlers } from './card/apply.ts'
import type { CardProvider } from './card/provider.ts'
import { cardWebhook } from './card/webhook.ts'
import { operatorRefund } from './refunds/operator-refund.ts'
import { operatorRefundRetry } from './refunds/operator-refund-retry.ts'
import { operatorRefunds } from './refunds/operator-refunds.ts'

export const routes = (
  ctx: Ctx,
  parts: { readonly provider: CardProvider | undefined; readonly settlers: Settlers },
): Route[] => [
  route('payments.card.webhook', (call) =>
    cardWebhook(ctx, parts, { text: call.rawBody, signature: call.header('stripe-signature') }),
  ),
]

export const operatorRoutes = (
  ctx: Ctx,
  parts: { readonly audit: Audit; readonly settlers: Settlers },
): Route[] => [
  route('payments.refunds.operator-refunds', (call) => operatorRefunds(ctx, call.query)),
  route('payments.refunds.operator-refund', (call) =>
    operatorRefund(ctx, { ...parts, storeResult: call.storeResult }, call.operator, call.body),
  ),
  route('payments.refunds.operator-refund-retry', (call) =>
    operatorRefundRetry(ctx, parts, call.operator, call.params.refundId),
  ),
]
