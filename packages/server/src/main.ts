import { Pool } from 'pg'
import { readConfig, readSignerConfig, ConfigFaults, type Config } from './platform/config.ts'
import { checkDurability } from './platform/db.ts'
import { makeLog } from './platform/log.ts'
import { migrate } from './platform/migrate.ts'
import { createOperator, runApi, runSigner, runWorker } from './roles.ts'
import { supervise } from './supervisor.ts'

const usage = `usage: node packages/server/src/main.ts [role]

  (none)                 migrate, then run signer, api and worker as child processes
  api | worker | signer  run one of them; the schema must be up to date
  migrate                bring the schema up to date and stop
  operator create NAME   make an operator on this machine and print the key
`

const prepare = async (config: Config): Promise<void> => {
  const log = makeLog(config.LOG_LEVEL)
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

const run = async (role: string | undefined, rest: readonly string[]): Promise<void> => {
  if (role === 'signer') return runSigner(readSignerConfig())
  const config = readConfig()
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
