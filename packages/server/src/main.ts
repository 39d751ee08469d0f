import { readConfig, readSignerConfig, ConfigFaults } from './platform/ops/config.ts'
import { runSigner } from './roles/signer.ts'
import { supervise } from './roles/supervisor.ts'

const usage = `usage: node packages/server/src/main.ts [role]

  (none)                 migrate, then run signer, api and worker as child processes
  api | worker | signer  run one of them; the schema must be up to date
  migrate                bring the schema up to date and stop
  operator create NAME   make an operator on this machine and print the key
`

const run = async (role: string | undefined, parameters: readonly string[]): Promise<void> => {
  if (role === 'signer') return runSigner(readSignerConfig())
  const config = readConfig()
  // Imported by role: a process loads only what it runs.
  if (role === 'api') return (await import('./roles/api.ts')).runApi(config)
  if (role === 'worker') return (await import('./roles/worker.ts')).runWorker(config)
  if (role === 'migrate' || role === undefined) {
    await (await import('./roles/migrate.ts')).prepareDatabase(config)
    return role === undefined ? supervise(['signer', 'api', 'worker']) : undefined
  }
  const [action, name] = parameters
  if (role === 'operator' && action === 'create' && name)
    return (await import('./roles/operator.ts')).createOperator(config, name)
  process.stderr.write(usage)
  process.exitCode = 2
}

try {
  await run(process.argv[2], process.argv.slice(3))
} catch (error) {
  process.stderr.write(
    `${error instanceof ConfigFaults ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
  )
  process.exitCode = 1
}
