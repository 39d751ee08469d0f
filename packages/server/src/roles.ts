import { buildApp, buildContext, buildDuties } from './app.ts'
import * as discovery from './discovery/index.ts'
import * as operators from './operators/index.ts'
import type { Config, SignerConfig } from './platform/config.ts'
import { systemClock } from './platform/clock.ts'
import { makeLog } from './platform/log.ts'
import { startWorker } from './platform/worker.ts'
import * as signing from './signing/index.ts'

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
  if (config.X402_CHAIN_RPC !== undefined)
    log.warn('X402_CHAIN_RPC is set, but settlement is not built yet: good payments are answered 503')
  await app.start()
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

/** The only process that holds private keys. It needs no database and no network. */
export const runSigner = async (config: SignerConfig): Promise<void> => {
  const log = makeLog(config.LOG_LEVEL)
  // Nothing that this process makes is for others, but for the socket where it is told so.
  process.umask(0o077)
  const backend = signing.openBackend(config)
  const keyring = signing.openKeyring({ folder: config.KEYS_DIR, backend, clock: systemClock })
  try {
    keyring.selfTest()
  } catch (error) {
    // Not the end: an operator can revoke the key that is lost, and /readyz says no until then.
    log.error({ err: error }, 'a key cannot sign')
  }
  const door = { socketPath: config.SIGNER_SOCKET, mode: Number.parseInt(config.SIGNER_SOCKET_MODE, 8) }
  const server = await signing.listenAsSigner(keyring, door, log)
  onStop(async () => {
    await new Promise<void>((resolve) => {
      server.close(() => resolve())
      // The api keeps its line open for ever; what it asked for is answered, for signing takes no turn of the loop.
      setImmediate(resolve)
    })
    keyring.close()
  })
  log.info({ backend: backend.name }, 'ready to sign')
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
