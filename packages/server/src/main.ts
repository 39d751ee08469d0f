import { readConfig, readSignerConfig, ConfigFaults } from './platform/ops/config.ts'
import { runSigner } from './roles/signer.ts'
import { supervise } from './roles/supervisor.ts'

const usage = `usage: node packages/server/src/main.ts [role]

  (none)                 migrate, then run signer, api and worker as child processes
  api | worker | signer  run one of them; the schema must be up to date
  migrate                bring the schema up to date and stop
  operator create NAME   make an operator on this machine and print the key
`

const run = async (role: string | undefined, rest: readonly string[]): Promise<void> => {
  if (role === 'signer') return runSigner(readSignerConfig())
  const config = readConfig()
  // After the signer's turn: its process must not load what it does not use.
  const { createOperator, prepareDatabase: prepare, runApi, runWorker } = await import('./roles/index.ts')
  if (role === undefined) {
    await prepare(config)
    return supervise(['signer', 'api', 'worker'])
  }
  if (role === 'api') return runApi(config)
  if (role === 'worker') return runWorker(config)
  if (role === 'migrate') return prepare(config)
  const name = rest[1]
  if (role === 'operator' && rest[0] === 'create' && name) return createOperator(config, name)
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
