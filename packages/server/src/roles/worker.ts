import type { Config } from '../platform/ops/config.ts'
import { makeLogger } from '../platform/ops/log.ts'
import { onStop } from '../platform/ops/stop.ts'
import { startWorker } from '../platform/queue/worker.ts'
import { buildContext, buildJobs } from '../wiring/index.ts'

/** Runs the background jobs. */
export const runWorker = async (config: Config): Promise<void> => {
  const log = makeLogger(config.LOG_LEVEL)
  const ctx = buildContext({ config, log, name: 'pohf-worker' })
  const jobs = buildJobs(ctx)
  const worker = startWorker(ctx, jobs)
  onStop(async () => {
    await worker.stop()
    await ctx.db.pool.end()
  })
  log.info({ jobs: jobs.length }, 'worker started')
}
