import { route, type Route } from '../platform/http/call.ts'
import { ask } from './ask.ts'
import type { PayDeps } from './deps.ts'
import { readOffer } from './offer.ts'
import { pay } from './pay.ts'
import { quote } from './quote.ts'
import { read } from './read.ts'

export const routes = (deps: PayDeps): Route[] => [
  route('questions.quote', (call) =>
    quote(deps.ctx, (tx) => readOffer(tx, deps, call.agent.mode), call.body),
  ),
  route('questions.ask', (call) => ask(deps, call.agent, call.body, call.storeResult)),
  route('questions.pay', (call) =>
    pay(deps, call.agent, {
      questionId: call.params.questionId,
      payments: {
        'x-payment': call.header('x-payment'),
        'payment-signature': call.header('payment-signature'),
      },
      purchaseId: call.header('x-purchase-id'),
      requestId: call.requestId,
    }),
  ),
  route('questions.read', (call) => read(deps, call.agent, call.params.questionId)),
]
