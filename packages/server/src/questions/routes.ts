import { route, type Route } from '../platform/http/call.ts'
import { ask } from './ask.ts'
import type { QuestionDeps } from './deps.ts'
import { readOffer } from './offer.ts'
import { quote } from './quote.ts'
import { read } from './read.ts'

export const routes = (deps: QuestionDeps): Route[] => [
  route('questions.quote', (call) =>
    quote(deps.ctx, (tx) => readOffer(tx, deps, call.agent.mode), call.body),
  ),
  route('questions.ask', (call) => ask(deps, call.agent, call.body, call.storeResult)),
  route('questions.read', (call) => read(deps, call.agent, call.params.questionId)),
]
