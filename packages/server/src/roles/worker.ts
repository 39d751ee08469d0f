import { waitForSchema } from '../platform/db/migrate.ts'
import type { Config } from '../platform/ops/config.ts'
import { makeLogger } from '../platform/ops/log.ts'
import { onStop } from '../platform/ops/stop.ts'
import { startWorker, type Worker } from '../platform/queue/worker.ts'
import { buildContext, buildJobs } from '../wiring/index.ts'

/** Runs the background jobs. */
export const runWorker = async (config: Config): Promise<void> => {
  const log = makeLogger(config.LOG_LEVEL)
  const ctx = buildContext({ config, log, name: 'pohf-worker' })
  const started: Worker[] = []
  onStop({ log, limitSeconds: config.STOP_SECONDS }, async () => {
    for (const worker of started) await worker.stop()
    await ctx.db.pool.end()
  })
  await waitForSchema(config.DATABASE_URL, log)
  const jobs = buildJobs(ctx)
  started.push(startWorker(ctx, jobs))
  log.info({ jobs: jobs.length }, 'worker started')
}
