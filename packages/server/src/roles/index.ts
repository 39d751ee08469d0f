import { Pool } from 'pg'
import { buildApp, buildContext, buildJobs } from '../wiring/index.ts'
import * as discovery from '../discovery/index.ts'
import * as operators from '../operators/index.ts'
import type { Config } from '../platform/ops/config.ts'
import { checkDurability } from '../platform/db/db.ts'
import { makeLogger } from '../platform/ops/log.ts'
import { migrate } from '../platform/db/migrate.ts'
import { onStop } from '../platform/ops/stop.ts'
import { startWorker } from '../platform/queue/worker.ts'

/** Refuses an unsafe database and brings its schema up to date. */
export const prepareDatabase = async (config: Config): Promise<void> => {
  const log = makeLogger(config.LOG_LEVEL)
  const pool = new Pool({ connectionString: config.DATABASE_URL, max: 1, connectionTimeoutMillis: 10_000 })
  try {
    for (const warning of await checkDurability(pool)) log.warn(warning)
  } finally {
    await pool.end()
  }
  const applied = await migrate(config.DATABASE_URL)
  if (applied.length > 0) log.info({ applied }, 'schema brought up to date')
  if (config.SMTP_URL === undefined) log.warn('SMTP_URL is not set: mails wait in the outbox until it is')
}

/** What an operator should know about card payments at every start. */
const cardWarnings = (config: Config): string[] => {
  const { STRIPE_SECRET_KEY: key } = config
  if (key === undefined)
    return ['STRIPE_SECRET_KEY is not set: nothing can be paid by card, and live checkouts say so']
  return !config.loopback && !/^[sr]k_live_/.test(key)
    ? ['STRIPE_SECRET_KEY is a test key: credits are posted though no card is charged']
    : []
}

/** What an operator should know about payments over HTTP 402 at every start. */
const x402Warnings = (config: Config): string[] =>
  config.X402_CHAIN_RPC !== undefined &&
  config.X402_GAS_KEYS_FILE === undefined &&
  config.X402_FACILITATOR_URL === undefined
    ? ['X402_CHAIN_RPC is set and nobody pays gas: good payments are answered 503. Set X402_GAS_KEYS_FILE']
    : []

export const runApi = async (config: Config): Promise<void> => {
  const log = makeLogger(config.LOG_LEVEL)
  const ctx = buildContext({ config, log, name: 'pohf-api' })
  const app = buildApp(ctx)
  onStop(async () => {
    app.stopAccepting()
    await Promise.all([app.api.close(), app.operator.close()])
    await ctx.db.pool.end()
  })
  for (const notice of [...cardWarnings(config), ...x402Warnings(config)]) log.warn(notice)
  await app.start()
  await app.operator.listen({ host: config.OPERATOR_HOST, port: config.OPERATOR_PORT })
  await app.api.listen({ host: config.HOST, port: config.PORT })
  log.info(
    { url: config.BASE_URL, operators: `http://${config.OPERATOR_HOST}:${config.OPERATOR_PORT}` },
    'api listening',
  )
  if (!discovery.isWebBuilt())
    log.warn('the pages of the console are not built: /verify says so. Build them with: npm run build')
  if (!discovery.isTagBuilt())
    log.warn(
      '/tag.js and /check.js are not built: no page can record a session. Build them with: npm run build',
    )
}

export const runWorker = async (config: Config): Promise<void> => {
  const log = makeLogger(config.LOG_LEVEL)
  const ctx = buildContext({ config, log, name: 'pohf-worker' })
  const worker = startWorker(ctx, buildJobs(ctx))
  onStop(async () => {
    await worker.stop()
    await ctx.db.pool.end()
  })
  log.info('worker started')
}

/** The machine's own way to the first operator. */
export const createOperator = async (config: Config, name: string): Promise<void> => {
  const ctx = buildContext({ config, log: makeLogger('silent'), name: 'pohf-operator' })
  try {
    process.stdout.write(`${JSON.stringify(await operators.create(ctx, 'machine', name))}\n`)
  } finally {
    await ctx.db.pool.end()
  }
}
