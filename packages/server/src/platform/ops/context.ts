import type { Clock } from './clock.ts'
import type { Config } from './config.ts'
import type { Database } from '../db/db.ts'
import type { Ids } from './ids.ts'
import type { Logger } from './log.ts'
import type { Metrics } from './metrics.ts'
import type { Secrets } from './secrets.ts'

/** The first parameter of every operation that may open a transaction. */
export type Ctx = {
  readonly config: Config
  readonly db: Database
  readonly clock: Clock
  readonly ids: Ids
  readonly secrets: Secrets
  readonly log: Logger
  readonly metrics: Metrics
}
