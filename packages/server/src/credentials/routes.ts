import { route, type Route } from '../platform/call.ts'
import { bindTransaction } from './bind-transaction.ts'
import type { Deps } from './mint.ts'
import { verify } from './verify.ts'
import { verifyPersonhood } from './verify-personhood.ts'

export const routes = (deps: Deps): Route[] => [
  route('credentials.verify', (call) => verify(deps, call.agent, call.body)),
  route('credentials.verify-personhood', (call) => verifyPersonhood(deps, call.agent, call.body)),
  route('credentials.bind-transaction', (call) => bindTransaction(deps, call.agent, call.body)),
]
