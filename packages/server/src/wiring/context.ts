import { openDatabase } from '../platform/db/db.ts'
import { systemClock, type Clock } from '../platform/ops/clock.ts'
import type { Config } from '../platform/ops/config.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { makeIds } from '../platform/ops/ids.ts'
import type { Logger } from '../platform/ops/log.ts'
import { makeMetrics } from '../platform/ops/metrics.ts'
import { loadSecrets } from '../platform/ops/secrets.ts'

export type ContextOptions = {
  readonly config: Config
  readonly log: Logger
  readonly clock?: Clock
  readonly name: string
}

/** Builds the context that every operation receives. */
export const buildContext = (options: ContextOptions): Ctx => {
  const clock = options.clock ?? systemClock
  const ids = makeIds(options.config.CELL, clock)
  const metrics = makeMetrics()
  const db = openDatabase({
    url: options.config.DATABASE_URL,
    poolSize: options.config.DATABASE_POOL_SIZE,
    waitSeconds: options.config.DATABASE_WAIT_SECONDS,
    statementSeconds: options.config.DATABASE_STATEMENT_SECONDS,
    log: options.log,
    metrics,
    name: options.name,
    ids,
  })
  return {
    config: options.config,
    log: options.log,
    clock,
    ids,
    db,
    secrets: loadSecrets(options.config.DATA_DIR),
    metrics,
  }
}
