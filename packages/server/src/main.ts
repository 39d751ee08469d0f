import { readConfig, readSignerConfig, ConfigFaults } from './platform/ops/config.ts'
import { ignoreStreamErrors, makeLogger } from './platform/ops/log.ts'
import { supervisedFlag } from './platform/ops/stop.ts'
import { runSigner } from './roles/signer.ts'
import { supervise } from './roles/supervisor.ts'

const usage = `usage: node packages/server/src/main.ts [role]

  (none)                 migrate, then run signer, api and worker as child processes
  api | worker | signer  run one of them; the schema must be up to date
  migrate                bring the schema up to date and exit
  operator create NAME   create an operator and print the operator's key
  operator passkeys NAME [ID]  print the passkeys of an operator, or remove one
`

const run = async (role: string | undefined, parameters: readonly string[]): Promise<void> => {
  if (role === 'signer') return runSigner(readSignerConfig())
  const config = readConfig()
  // Imported by role: a process loads only what it runs.
  if (role === 'api') return (await import('./roles/api.ts')).runApi(config)
  if (role === 'worker') return (await import('./roles/worker.ts')).runWorker(config)
  if (role === 'migrate' || role === undefined) {
    // The api would refuse it too, and be started again and again.
    if (role === undefined) (await import('./website/index.ts')).readBranding(config.BRANDING_FILE)
    await (await import('./roles/migrate.ts')).prepareDatabase(config)
    if (role === undefined) await (await import('./roles/keys.ts')).requireKeys(config)
    return role === undefined
      ? supervise({ log: makeLogger(config.LOG_LEVEL), limitSeconds: config.STOP_SECONDS })
      : undefined
  }
  const [action, name, id] = parameters
  if (role === 'operator' && action === 'create' && name)
    return (await import('./roles/operator.ts')).createOperator(config, name)
  if (role === 'operator' && action === 'passkeys' && name)
    return (await import('./roles/operator.ts')).operatorPasskeys(config, name, id)
  process.stderr.write(usage)
  process.exitCode = 2
}

/** The stack of an error and of its causes. Not their other fields: an invalid URL keeps its password in one. */
const describeError = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  const stack = error.stack ?? error.message
  return error.cause === undefined ? stack : `${stack}\ncaused by: ${describeError(error.cause)}`
}

ignoreStreamErrors()
const [role, ...parameters] = process.argv.slice(process.argv[2] === supervisedFlag ? 3 : 2)
try {
  await run(role, parameters)
} catch (error) {
  process.stderr.write(`${error instanceof ConfigFaults ? error.message : describeError(error)}\n`)
  // A listener or a timer that is open already must not keep a process that failed to start.
  process.exit(1)
}
