import { createHash } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { Client, DatabaseError } from 'pg'
import type { Logger } from '../ops/log.ts'

export type Migration = {
  readonly number: number
  readonly name: string
  readonly sql: string
  readonly hash: string
}

const folder = new URL('../../../migrations/', import.meta.url)
/** Any number, the same in every process: only one may migrate a database at a time. */
const lockKey = 7_064_801
const lockWaitMs = 60_000
/** A migration may build an index of a large table. */
const statementMs = 3_600_000

/** Reads the numbered files in order; throws on a gap or a repeated number. */
export const readMigrations = (from: URL = folder): Migration[] => {
  const names = readdirSync(from)
    .filter((name) => name.endsWith('.sql'))
    .toSorted()
  return names.map((name, index) => {
    const number = Number(name.slice(0, 4))
    if (!/^\d{4}_[a-z0-9_]+\.sql$/.test(name) || number !== index + 1)
      throw new Error(
        `migration file ${name} is out of order: expected number ${index + 1} and a name such as 0001_name.sql`,
      )
    const sql = readFileSync(new URL(name, from), 'utf8')
    return { number, name, sql, hash: createHash('sha256').update(sql).digest('hex') }
  })
}

type AppliedMigration = { readonly number: number; readonly hash: string }

const pendingOf = (migrations: readonly Migration[], applied: readonly AppliedMigration[]): Migration[] => {
  for (const row of applied) {
    const known = migrations.find((migration) => migration.number === row.number)
    if (known && known.hash !== row.hash)
      throw new Error(
        `migration ${known.name} was changed after it ran: restore the file and add a new migration`,
      )
  }
  return migrations.filter((migration) => !applied.some((row) => row.number === migration.number))
}

/**
 * Brings the schema up to date, forward only, each file in its own transaction. Safe to run from several
 * processes at once and to be killed anywhere: the lock and the open transaction go with the connection.
 */
export const migrate = async (
  databaseUrl: string,
  migrations: readonly Migration[] = readMigrations(),
): Promise<string[]> => {
  const client = new Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: 10_000,
    query_timeout: statementMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    application_name: 'pohf-migrate',
  })
  // The error also rejects the running query; without a listener it would end the process first.
  client.on('error', () => undefined)
  await client.connect()
  try {
    await client.query(`set lock_timeout = ${lockWaitMs}; set "pohf.tenant" = 'system'`)
    await client.query('select pg_advisory_lock($1)', [lockKey])
    await client.query('set lock_timeout = 2000')
    await client.query(
      'create table if not exists platform_migrations (number int primary key, name text not null, hash text not null, applied_at timestamptz not null default now())',
    )
    const { rows } = await client.query<AppliedMigration>('select number, hash from platform_migrations')
    const pending = pendingOf(migrations, rows)
    for (const migration of pending) await apply(client, migration)
    return pending.map((migration) => migration.name)
  } finally {
    await client.end()
  }
}

const apply = async (client: Client, migration: Migration): Promise<void> => {
  await client.query('begin')
  try {
    await client.query(migration.sql)
    await client.query('insert into platform_migrations (number, name, hash) values ($1, $2, $3)', [
      migration.number,
      migration.name,
      migration.hash,
    ])
    await client.query('commit')
  } catch (error) {
    // Where the server did not answer, a rollback would wait as long again; the end of the connection undoes the transaction.
    if (error instanceof DatabaseError) await client.query('rollback').catch(() => undefined)
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`migration ${migration.name} failed: ${reason}`, { cause: error })
  }
}

/** Reads which migrations have run; none where the database is empty. */
const readApplied = async (databaseUrl: string): Promise<AppliedMigration[]> => {
  const client = new Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: 5_000,
    query_timeout: 5_000,
    application_name: 'pohf-schema-check',
  })
  client.on('error', () => undefined)
  try {
    await client.connect()
    const { rows } = await client.query<{ found: boolean }>(
      "select to_regclass('platform_migrations') is not null as found",
    )
    return rows[0]?.found
      ? (await client.query<AppliedMigration>('select number, hash from platform_migrations')).rows
      : []
  } finally {
    // Not awaited: after a failed connection, end() never returns.
    void client.end().catch(() => undefined)
  }
}

/** Backoff between two checks of the schema: 0.25 s, 0.5 s, up to 2 s. */
const checkAgainMs = (attempt: number) => Math.min(2_000, 250 * 2 ** attempt)

/**
 * Returns when every migration of this version has run. A schema that has more is of a newer version and is accepted:
 * migrations keep the version before them working, so that an upgrade can replace one process after the other.
 * `beforeWait` runs once, if there is something to wait for.
 */
export const waitForSchema = async (
  databaseUrl: string,
  log: Logger,
  beforeWait: () => Promise<void> = async () => undefined,
): Promise<void> => {
  const migrations = readMigrations()
  const waitsFor = new Set<string>()
  const logOnce = (reason: string, line: () => void) => {
    if (!waitsFor.has(reason)) line()
    waitsFor.add(reason)
  }
  for (let attempt = 0; ; attempt++) {
    const applied = await readApplied(databaseUrl).catch((error: unknown) => {
      logOnce('database', () => log.warn({ err: error }, 'database does not answer; the start waits for it'))
      return undefined
    })
    const pending = applied && pendingOf(migrations, applied).map(({ name }) => name)
    if (pending?.length === 0) break
    if (pending)
      logOnce('schema', () =>
        log.warn({ pending }, 'schema is not up to date; the start waits for the migrations'),
      )
    if (attempt === 0) await beforeWait()
    await setTimeout(checkAgainMs(attempt))
  }
  if (waitsFor.size > 0) log.info('schema is up to date; the start continues')
}
