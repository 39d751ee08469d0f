import { startMasterKeySync } from '../platform/db/versions.ts'
import { waitForSchema } from '../platform/db/migrate.ts'
import type { Config } from '../platform/ops/config.ts'
import { makeLogger } from '../platform/ops/log.ts'
import { startMetricsListener } from '../platform/ops/metrics-listener.ts'
import { onStop } from '../platform/ops/stop.ts'
import { startTracing, stopTracing } from '../platform/ops/tracing.ts'
import { startWorker, type Worker } from '../platform/queue/worker.ts'
import { connectSigner } from '../signing/index.ts'
// Imported file by file, not from index.ts: this process loads no listener and no page.
import { buildContext } from '../wiring/context.ts'
import { renderMetrics } from '../wiring/metrics.ts'
import { buildJobs } from '../wiring/worker.ts'

/** Runs the background jobs. */
export const runWorker = async (config: Config): Promise<void> => {
  const log = makeLogger(config.LOG_LEVEL)
  await startTracing(config, 'pohf-worker')
  const ctx = buildContext({ config, log, name: 'pohf-worker' })
  const started: Pick<Worker, 'stop'>[] = []
  const signer = connectSigner(ctx)
  onStop({ log, limitSeconds: config.STOP_SECONDS }, async () => {
    for (const worker of started) await worker.stop()
    await signer.close()
    await ctx.db.end()
    await stopTracing()
  })
  const { METRICS_HOST: host, METRICS_PORT: port } = config
  await startMetricsListener({ host, port, log, render: () => renderMetrics(ctx, []) })
  await waitForSchema(config.DATABASE_URL, log)
  started.push(await startMasterKeySync(ctx, 'worker'))
  signer.startManifestSync()
  const jobs = buildJobs(ctx, signer)
  // Stopped first: its jobs seal.
  started.unshift(startWorker(ctx, jobs))
  log.info({ jobs: jobs.length }, 'worker started')
}
