import * as discovery from '../discovery/index.ts'
import type { Config } from '../platform/ops/config.ts'
import { makeLogger } from '../platform/ops/log.ts'
import { onStop } from '../platform/ops/stop.ts'
import { buildApp, buildContext } from '../wiring/index.ts'

/** Warnings about card payments that every start logs. */
const cardWarnings = (config: Config): string[] => {
  const { STRIPE_SECRET_KEY: key } = config
  if (key === undefined)
    return ['STRIPE_SECRET_KEY is not set: nothing can be paid by card, and live checkouts say so']
  return !config.loopback && !/^[sr]k_live_/.test(key)
    ? ['STRIPE_SECRET_KEY is a test key: credits are posted though no card is charged']
    : []
}

/** Warnings about x402 payments that every start logs. */
const x402Warnings = (config: Config): string[] =>
  config.X402_CHAIN_RPC !== undefined &&
  config.X402_GAS_KEYS_FILE === undefined &&
  config.X402_FACILITATOR_URL === undefined
    ? ['X402_CHAIN_RPC is set and nobody pays gas: good payments are answered 503. Set X402_GAS_KEYS_FILE']
    : []

/** Runs the public and the operators' listener. */
export const runApi = async (config: Config): Promise<void> => {
  const log = makeLogger(config.LOG_LEVEL)
  const ctx = buildContext({ config, log, name: 'pohf-api' })
  const app = buildApp(ctx)
  onStop(async () => {
    app.stopAccepting()
    await Promise.all([app.api.close(), app.operator.close()])
    await ctx.db.pool.end()
  })
  for (const warning of [...cardWarnings(config), ...x402Warnings(config)]) log.warn(warning)
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
