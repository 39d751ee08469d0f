import { Kysely, PostgresDialect, sql, type CompiledQuery, type PostgresPoolClient } from 'kysely'
import { Pool, types, type PoolClient } from 'pg'
import { Refusal } from '../http/errors.ts'
import type { Ids } from '../ops/ids.ts'
import type { Logger } from '../ops/log.ts'
import type { DB } from './schema.ts'

// bigint columns hold money and counters: never a string, never a float.
types.setTypeParser(types.builtins.INT8, BigInt)

/** The tenant whose rows a transaction sees: one agent, or `system` for all rows, for work of no single agent. */
export type Tenant = `agt_${string}` | 'system'

declare const transactionBrand: unique symbol
/** A transaction in progress. Only `inTransaction` makes one; a function that takes `tx` first joins it. */
export type Tx = Kysely<DB> & { readonly ids: Ids; readonly [transactionBrand]: true }

export type Database = {
  readonly pool: Pool
  readonly ids: Ids
  /** How many statements this process has sent: tests assert with it that something needs no query. */
  readonly statements: () => number
}

export type WithDatabase = { readonly db: Database }

/** The role of the program: neither owner nor superuser, so that row-level security applies. */
const applicationRole = 'pohf_app'
const attemptsMax = 3

type StatementCounter = { statements: number }
const kyselyByClient = new WeakMap<PoolClient, Kysely<DB> & { ids: Ids }>()
const clientByKysely = new WeakMap<Kysely<DB>, PoolClient>()

export const openDatabase = (options: {
  url: string
  poolSize: number
  waitSeconds: number
  log: Logger
  name: string
  ids: Ids
}): Database => {
  const pool = new Pool({
    connectionString: options.url,
    max: options.poolSize,
    connectionTimeoutMillis: options.waitSeconds * 1_000,
    idleTimeoutMillis: 30_000,
    statement_timeout: options.waitSeconds * 2_000,
    lock_timeout: options.waitSeconds * 1_000,
    idle_in_transaction_session_timeout: options.waitSeconds * 3_000,
    application_name: options.name,
    options: `-c role=${applicationRole} -c timezone=UTC`,
  })
  // A lost idle connection is replaced by the pool; without a listener it would end the process.
  pool.on('error', (error) => options.log.warn({ err: error }, 'idle database connection lost'))
  const counter: StatementCounter = { statements: 0 }
  pool.on('connect', (client) => {
    // The pool listens only while a connection is idle. A connection lost in use fails its statement, not the process.
    client.on('error', () => undefined)
    const query = client.query.bind(client) as (...parameters: unknown[]) => unknown
    Object.assign(client, {
      query: (...parameters: unknown[]) => {
        counter.statements += 1
        return query(...parameters)
      },
    })
  })
  return { pool, ids: options.ids, statements: () => counter.statements }
}

/** One Kysely per pooled connection, built once: building it costs more than a statement. */
const kyselyFor = (client: PoolClient, ids: Ids) => {
  const known = kyselyByClient.get(client)
  if (known) return known
  const single: PostgresPoolClient = {
    query: client.query.bind(client),
    release: () => undefined,
  }
  const dialect = new PostgresDialect({
    pool: { options: {}, connect: async () => single, end: async () => undefined },
  })
  const handle = Object.assign(new Kysely<DB>({ dialect }), { ids })
  kyselyByClient.set(client, handle)
  clientByKysely.set(handle, client)
  return handle
}

const sqlStateOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''

const isRetryable = (error: unknown) => ['40001', '40P01'].includes(sqlStateOf(error))

/** No connection, too many connections, starting up or timed out: the caller may retry. */
const isUnavailable = (error: unknown): boolean => {
  const state = sqlStateOf(error)
  if (
    [
      'ECONNREFUSED',
      'ECONNRESET',
      'ENOENT',
      'EPIPE',
      'ETIMEDOUT',
      '57P01',
      '57P02',
      '57P03',
      '53300',
      '53100',
      '55P03',
      '57014',
    ].includes(state)
  )
    return true
  return (
    state.startsWith('08') ||
    (error instanceof Error &&
      /timeout exceeded when trying to connect|Connection terminated|is not queryable/.test(error.message))
  )
}

const asRefusal = (error: unknown): unknown =>
  isUnavailable(error) ? new Refusal('overloaded', { headers: { 'retry-after': '2' }, cause: error }) : error

const connect = async (db: Database): Promise<PoolClient> => {
  try {
    return await db.pool.connect()
  } catch (error) {
    throw asRefusal(error)
  }
}

const runInTransaction = async <T>(
  client: PoolClient,
  tenant: Tenant | undefined,
  work: () => Promise<T>,
): Promise<T> => {
  if (tenant === undefined) return work()
  // One round trip for both. inTransaction has checked the tenant against tenantPattern, so it needs no quoting.
  await client.query(`begin; set local "pohf.tenant" = '${tenant}'`)
  try {
    const result = await work()
    await client.query('commit')
    return result
  } catch (error) {
    await client.query('rollback').catch(() => undefined)
    throw error
  }
}

const tenantPattern = /^(system|agt_[a-z0-9]{1,64})$/

/** Retries after a deadlock or a serialization failure, up to three attempts in all. */
const withClient = async <T>(
  ctx: WithDatabase,
  tenant: Tenant | undefined,
  work: (tx: Tx) => Promise<T>,
): Promise<T> => {
  for (let attemptNumber = 1; ; attemptNumber++) {
    const client = await connect(ctx.db)
    let broken = false
    try {
      return await runInTransaction(client, tenant, () => work(kyselyFor(client, ctx.db.ids) as Tx))
    } catch (error) {
      broken = isUnavailable(error)
      if (attemptNumber < attemptsMax && isRetryable(error)) continue
      throw asRefusal(error)
    } finally {
      client.release(broken)
    }
  }
}

/**
 * Opens the one transaction of an operation, as this tenant. `work` may run up to three times, so it must have no
 * effect outside the database.
 */
export const inTransaction = async <T>(
  ctx: WithDatabase,
  tenant: Tenant,
  work: (tx: Tx) => Promise<T>,
): Promise<T> => {
  if (!tenantPattern.test(tenant))
    throw new Error(`"${tenant}" is not a tenant: expected an agent id or system`)
  return withClient(ctx, tenant, work)
}

/**
 * Runs one statement that is its own transaction: one round trip, and its locks do not wait for this process. It has no
 * tenant, so row-level security hides every row; it can only call a SQL function that sets the tenant itself.
 */
export const inSingleStatement = <T>(ctx: WithDatabase, work: (tx: Tx) => Promise<T>): Promise<T> =>
  withClient(ctx, undefined, work)

type Preparable<Row> = { readonly compile: (tx: Tx) => CompiledQuery<Row> }
/**
 * Runs a prepared statement, which each connection plans once under this name. For the few statements that run all the
 * time: with tables partitioned by month, planning costs more than running. Its text must always be the same.
 */
export const executePrepared = async <Row>(tx: Tx, name: string, query: Preparable<Row>): Promise<Row[]> => {
  const client = clientByKysely.get(tx)
  if (!client) throw new Error(`prepared statement ${name} was run without a transaction of inTransaction`)
  const { sql: text, parameters } = query.compile(tx)
  const { rows } = await client.query<Row & object>({ name, text, values: [...parameters] })
  return rows
}

/** The database's time, by which rules decide. */
export const now = () => sql<Date>`pohf_now()`

/** Reads the database's time. */
export const readNow = async (tx: Tx): Promise<Date> => {
  const { rows } = await sql<{ now: Date }>`select pohf_now() as now`.execute(tx)
  const row = rows[0]
  if (!row) throw new Error('select pohf_now() returned no row')
  return row.now
}

/** Refuses a cluster that may lose acknowledged writes; returns warnings. */
export const checkDurability = async (pool: Pick<Pool, 'query'>): Promise<string[]> => {
  const { rows } = await pool.query<{ name: string; setting: string }>(
    "select name, setting from pg_settings where name in ('fsync', 'full_page_writes', 'synchronous_commit', 'data_checksums', 'server_version_num')",
  )
  const setting = (name: string) => rows.find((row) => row.name === name)?.setting
  const unsafe = ['fsync', 'full_page_writes', 'synchronous_commit'].filter((name) => setting(name) === 'off')
  if (unsafe.length > 0)
    throw new Error(
      `PostgreSQL runs with ${unsafe.map((name) => `${name}=off`).join(', ')}: acknowledged credentials could be lost. Turn these settings on.`,
    )
  if (Number(setting('server_version_num')) < 150_000)
    throw new Error(
      `PostgreSQL has version number ${setting('server_version_num')}: 15 or later is required.`,
    )
  return setting('data_checksums') === 'off'
    ? ['data checksums are off, so disk faults stay undetected: turn them on with pg_checksums --enable']
    : []
}
