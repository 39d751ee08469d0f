import { deviceTargets } from './device-targets.ts'
import { passkeyTargets } from './passkey-targets.ts'
import type { Target } from './target.ts'
import { tradeTargets } from './trade-targets.ts'

/** Every parser of foreign evidence, with what verifies it. */
export const targets = async (): Promise<readonly Target[]> => [
  ...(await deviceTargets()),
  ...(await passkeyTargets()),
  ...(await tradeTargets()),
]
