import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import {
  checkDurability,
  checkRoles,
  loadSecrets,
  masterKeyFault,
  readMigrations,
  type Config,
  type MasterKeyVersion,
} from '@pohf/server/doctor'
import { messageOf } from '../../command/errors.ts'
import { checkAttention } from './attention.ts'
import { checkRecipient } from './chain.ts'
import { ok, problem, type Finding, type Machine } from './finding.ts'

const checkDurable = async (client: Client): Promise<Finding> => {
  const faults = await checkDurability(client).catch((error: unknown) => [messageOf(error)])
  return faults.length === 0
    ? ok('durability', 'fsync, full_page_writes, synchronous_commit and checksums are on')
    : problem(
        'durability',
        faults.join('; '),
        'Correct the named settings in postgresql.conf and start PostgreSQL again',
      )
}

const checkRoleFaults = async (client: Client): Promise<Finding[]> => {
  const faults = await checkRoles(client)
  if (faults.length === 0) return [ok('roles', 'the login role may act as pohf_app and pohf_mint')]
  return faults.map((fault) => {
    const [note = fault, statement = fault] = fault.split(': run ')
    return problem('roles', note, `Run ${statement}`)
  })
}

const checkSchema = async (client: Client): Promise<Finding> => {
  const expected = readMigrations().length
  const { rows } = await client
    .query<{ count: string }>('select count(*)::text as count from platform_migrations')
    .catch(() => ({ rows: [{ count: '0' }] }))
  const applied = Number(rows[0]?.count ?? 0)
  if (applied === expected) return ok('schema', `${applied} migrations applied`)
  return applied < expected
    ? problem('schema', `${applied} of ${expected} migrations applied`, 'Run pohf migrate')
    : problem(
        'schema',
        `the database has ${applied} migrations, this version knows ${expected}`,
        'Run the version that migrated the database, or a newer one',
      )
}

/** Credentials and limits rest on both clocks, which NTP keeps within milliseconds. */
const clockDifferenceMsMax = 2_000
const checkClock = async (client: Client, { now }: Machine): Promise<Finding> => {
  const before = now()
  const { rows } = await client.query<{ ms: string }>(
    'select (extract(epoch from clock_timestamp()) * 1000)::text as ms',
  )
  const between = (before + now()) / 2
  const difference = Math.round(between - Number(rows[0]?.ms))
  return Math.abs(difference) <= clockDifferenceMsMax
    ? ok('clock', `within ${Math.abs(difference)} ms of the database`)
    : problem(
        'clock',
        `this machine is ${(Math.abs(difference) / 1_000).toFixed(1)} s ${difference > 0 ? 'ahead of' : 'behind'} the database`,
        'Let NTP set the clocks of both machines: timedatectl set-ntp true',
      )
}

const checkMasterKey = async (client: Client, { DATA_DIR: dataDir }: Config): Promise<Finding> => {
  const file = join(dataDir, 'master.key')
  const { rows } = await client
    .query<MasterKeyVersion>(
      'select version, fingerprint, seals_since as "sealsSince", retired_at as "retiredAt" from platform_master_key order by version',
    )
    .catch(() => ({ rows: [] }))
  if (!existsSync(file))
    return rows.length === 0
      ? ok('master-key', `${file} is made at the first start`)
      : problem(
          'master-key',
          `${file} is missing, and the database was written with one`,
          'Restore master.key from its backup, or set DATA_DIR to the folder that holds it',
        )
  if ((statSync(file).mode & 0o077) !== 0)
    return problem('master-key', `other users can read ${file}`, `Run chmod 600 ${file}`)
  const fault = rows.length === 0 ? undefined : masterKeyFault(dataDir, loadSecrets(dataDir), rows)
  if (!fault) return ok('master-key', `${file} belongs to the database`)
  const [note = '', ...steps] = fault.message.split('\n')
  return problem('master-key', note, steps.map((step) => step.replace(/^ +- /, '')).join(' '))
}

/** Entries that wait for ClickHouse, at most. */
const countWaiting = async (client: Client): Promise<number> => {
  const { rows } = await client
    .query<{ entries: string }>('select entries from attention_spool_state()')
    .catch(() => ({ rows: [] }))
  return Number(rows[0]?.entries ?? 0)
}

const findingsOf = async (client: Client, config: Config, machine: Machine): Promise<Finding[]> => {
  const recipient = await checkRecipient(config, client)
  return [
    ok('database', 'connected'),
    await checkDurable(client),
    ...(await checkRoleFaults(client)),
    await checkSchema(client),
    await checkClock(client, machine),
    await checkMasterKey(client, config),
    ...(recipient ? [recipient] : []),
    ...(await checkAttention(config, await countWaiting(client))),
  ]
}

/** What the database says, and what must agree with it. */
export const checkDatabase = async (config: Config, machine: Machine): Promise<Finding[]> => {
  const client = new Client({
    connectionString: config.DATABASE_URL,
    connectionTimeoutMillis: 5_000,
    query_timeout: 5_000,
  })
  // A connection that ends between two queries is the finding of the next one.
  client.on('error', () => undefined)
  try {
    await client.connect()
    return await findingsOf(client, config, machine)
  } catch (error) {
    return [
      problem(
        'database',
        `the database does not answer: ${messageOf(error) || 'connection refused'}`,
        'Start PostgreSQL, or correct DATABASE_URL: host, port, role, password and name of the database',
      ),
    ]
  } finally {
    await client.end().catch(() => undefined)
  }
}
