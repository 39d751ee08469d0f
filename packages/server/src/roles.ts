import { buildApp, buildContext, buildDuties } from './app.ts'
import * as discovery from './discovery/index.ts'
import * as operators from './operators/index.ts'
import type { Config } from './platform/config.ts'
import { makeLog } from './platform/log.ts'
import { startWorker } from './platform/worker.ts'

/** How long a stopping process may take to finish what it has begun. */
const graceMs = 10_000

/** Runs `stop` once on SIGTERM or SIGINT, or when the supervisor is gone, and ends the process. */
const onStop = (stop: () => Promise<void>): void => {
  let begun = false
  const begin = () => {
    if (begun) return
    begun = true
    setTimeout(() => process.exit(1), graceMs).unref()
    stop().then(
      () => process.exit(0),
      () => process.exit(1),
    )
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, begin)
  process.on('disconnect', begin)
}

export const runApi = async (config: Config): Promise<void> => {
  const log = makeLog(config.LOG_LEVEL)
  const ctx = buildContext({ config, log, name: 'pohf-api' })
  const app = buildApp(ctx)
  onStop(async () => {
    app.stopTaking()
    await Promise.all([app.api.close(), app.operator.close()])
    await ctx.db.pool.end()
  })
  await app.operator.listen({ host: config.OPERATOR_HOST, port: config.OPERATOR_PORT })
  await app.api.listen({ host: config.HOST, port: config.PORT })
  log.info(
    { url: config.BASE_URL, operators: `http://${config.OPERATOR_HOST}:${config.OPERATOR_PORT}` },
    'listening',
  )
  if (!discovery.isConsoleBuilt())
    log.warn('the pages of the console are not built: /verify says so. Build them with: npm run build')
}

export const runWorker = async (config: Config): Promise<void> => {
  const log = makeLog(config.LOG_LEVEL)
  const ctx = buildContext({ config, log, name: 'pohf-worker' })
  const worker = startWorker(ctx, buildDuties(ctx))
  onStop(async () => {
    await worker.stop()
    await ctx.db.pool.end()
  })
  log.info('working')
}

/** The machine's own way to the first operator. */
export const createOperator = async (config: Config, name: string): Promise<void> => {
  const ctx = buildContext({ config, log: makeLog('silent'), name: 'pohf-operator' })
  try {
    process.stdout.write(`${JSON.stringify(await operators.create(ctx, 'machine', name))}\n`)
  } finally {
    await ctx.db.pool.end()
  }
}
