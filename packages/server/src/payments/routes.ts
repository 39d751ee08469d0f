import { route, type Route } from '../platform/call.ts'
import type { Ctx } from '../platform/context.ts'
import type { Settlers } from './card-apply.ts'
import type { CardProvider } from './card-provider.ts'
import { cardWebhook } from './card-webhook.ts'

export const routes = (
  ctx: Ctx,
  parts: { readonly provider: CardProvider | undefined; readonly settlers: Settlers },
): Route[] => [
  route('payments.card-webhook', (call) =>
    cardWebhook(ctx, parts, { text: call.rawBody, signature: call.header('stripe-signature') }),
  ),
]
