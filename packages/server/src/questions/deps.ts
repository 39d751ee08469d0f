import type { Payments } from '../payments/index.ts'
import type { BuyerDeps, FindCredentialTokens, SimulatedWorkerDeps } from '../work/index.ts'

/** What the wiring provides. */
export type QuestionDeps = BuyerDeps &
  SimulatedWorkerDeps & { readonly payments: Payments; readonly findTokens: FindCredentialTokens }
