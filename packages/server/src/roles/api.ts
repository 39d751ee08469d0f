import * as discovery from '../discovery/index.ts'
import { startMasterKeySync, type MasterKeySync } from '../platform/db/versions.ts'
import { waitForSchema } from '../platform/db/migrate.ts'
import type { Config } from '../platform/ops/config.ts'
import { makeLogger, type Logger } from '../platform/ops/log.ts'
import { watchEventLoop } from '../platform/ops/event-loop.ts'
import { startMetricsListener } from '../platform/ops/metrics-listener.ts'
import { onStop } from '../platform/ops/stop.ts'
import { startTracing, stopTracing } from '../platform/ops/tracing.ts'
import { buildApp, buildContext } from '../wiring/index.ts'

/** Warns at every start where customers cannot pay, or pay nothing. */
const logPaymentWarnings = (config: Config, log: Logger): void => {
  const { STRIPE_SECRET_KEY: cardKey } = config
  if (cardKey === undefined)
    log.warn({ setting: 'STRIPE_SECRET_KEY' }, 'card payments are off: live checkouts are refused')
  else if (!config.loopback && !/^[sr]k_live_/.test(cardKey))
    log.warn(
      { setting: 'STRIPE_SECRET_KEY' },
      'card payments use a test key: credits are posted and no card is charged',
    )
  if (
    config.X402_CHAIN_RPC !== undefined &&
    config.X402_GAS_KEYS_FILE === undefined &&
    config.X402_FACILITATOR_URL === undefined
  )
    log.warn(
      { setting: 'X402_GAS_KEYS_FILE' },
      'no gas account is configured: x402 payments are answered 503',
    )
}

/** Warns at every start where a deployment that others can reach is weaker than its defaults. */
const logExposureWarnings = (config: Config, log: Logger): void => {
  if (config.loopback) return
  if (!config.addressLimits)
    log.warn({ setting: 'ADDRESS_LIMITS' }, 'limits by client address are off: registrations are not limited')
  if (config.BASE_URL.startsWith('http:'))
    log.warn({ setting: 'BASE_URL' }, 'public address is plain http: API keys are readable on the network')
  else if (config.TRUSTED_PROXIES.length === 0)
    log.warn(
      { setting: 'TRUSTED_PROXIES' },
      'no proxy is trusted: all clients behind the TLS proxy count as one address',
    )
}

/** Warns where files that `npm run build` writes are missing. */
const logMissingBuilds = (log: Logger): void => {
  if (!discovery.isWebBuilt())
    log.warn({ command: 'npm run build' }, 'web pages are not built and answer 503')
  if (!discovery.isDocsBuilt())
    log.warn({ command: 'npm run build' }, 'the documentation is not built and /docs answers 503')
  if (!discovery.isTagBuilt())
    log.warn(
      { command: 'npm run build' },
      'the scripts for pages, such as /check.js, are not built and answer 503',
    )
}

/** Runs the public and the operators' listener. */
export const runApi = async (config: Config): Promise<void> => {
  const log = makeLogger(config.LOG_LEVEL)
  await startTracing(config, 'pohf-api')
  const ctx = buildContext({ config, log, name: 'pohf-api' })
  const started: MasterKeySync[] = []
  const app = buildApp(ctx)
  const stopWatching = watchEventLoop(app.costBudget.noteLag)
  onStop({ log, limitSeconds: config.STOP_SECONDS }, async () => {
    await app.stop(config.DRAIN_SECONDS)
    stopWatching()
    for (const sync of started) await sync.stop()
    await ctx.db.end()
    await stopTracing()
  })
  const { METRICS_HOST: host, METRICS_PORT: port } = config
  await startMetricsListener({ host, port, log, render: app.renderMetrics })
  logPaymentWarnings(config, log)
  logExposureWarnings(config, log)
  const listen = async () => {
    if (app.api.server.listening) return
    await app.operator.listen({ host: config.OPERATOR_HOST, port: config.OPERATOR_PORT })
    await app.api.listen({ host: config.HOST, port: config.PORT })
  }
  // While the schema is not there, both listeners answer health checks with 503 and refuse everything else.
  await waitForSchema(config.DATABASE_URL, log, async () => {
    app.hold()
    await listen()
  })
  started.push(await startMasterKeySync(ctx, 'api'))
  app.startManifestSync()
  app.startScoring()
  await app.start()
  await listen()
  app.open()
  log.info(
    { url: config.BASE_URL, operators: `http://${config.OPERATOR_HOST}:${config.OPERATOR_PORT}` },
    'api listening',
  )
  logMissingBuilds(log)
}
