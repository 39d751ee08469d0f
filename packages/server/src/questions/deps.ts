import type { Payments } from '../payments/index.ts'
import type { BuyDeps } from '../purchases/index.ts'
import type { BuyerDeps, FindCredentialTokens, SimulatedWorkerDeps } from '../work/index.ts'

/** What asking needs. */
export type QuestionDeps = BuyerDeps &
  SimulatedWorkerDeps & { readonly payments: Payments; readonly findTokens: FindCredentialTokens }

/** What the wiring provides: asking, and the payment over HTTP 402. */
export type PayDeps = QuestionDeps & BuyDeps
