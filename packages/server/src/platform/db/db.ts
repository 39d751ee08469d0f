import { Kysely, PostgresDialect, sql, type CompiledQuery, type PostgresPoolClient } from 'kysely'
import { types, type Pool, type PoolClient } from 'pg'
import { Refusal } from '../http/errors.ts'
import type { AgentId, Ids } from '../ops/ids.ts'
import { currentRequestScope, noteOutboxRows, outsideRequests } from '../ops/tracing/request-scope.ts'
import { currentSpan, currentTrace, inSpan } from '../ops/tracing.ts'
import { endsConnection, isRetryable, isUnavailable } from './connection-errors.ts'
import { destroyConnection, isClosed, openPools, setStatementLimit, type PoolOptions } from './pool.ts'
import type { DB } from './schema.ts'

// bigint columns hold money and counters: never a string, never a float.
types.setTypeParser(types.builtins.INT8, BigInt)

/** The tenant whose rows a transaction sees: one agent, or `system` for all rows, for work of no single agent. */
export type Tenant = AgentId | 'system'

declare const transactionBrand: unique symbol
/** A transaction in progress. Only the functions of this file make one; a function that takes `tx` first joins it. */
export type Tx = Kysely<DB> & {
  readonly ids: Ids
  /** The rows of the outbox that this transaction writes. */
  readonly outboxIds: string[]
  readonly [transactionBrand]: true
}

export type Database = {
  readonly pool: Pool
  /** For `inReservedTransaction`. */
  readonly reserved: Pool
  readonly ids: Ids
  /** How many statements this process has sent: tests assert with it that something needs no query. */
  readonly statements: () => number
  /** How many connections this process has opened and lost: the next one may lead to another primary. */
  readonly connectionChanges: () => number
  /** The limit of a statement, unless its transaction has a longer one. */
  readonly statementMs: number
  /** Closes every connection. */
  readonly end: () => Promise<void>
}

export type WithDatabase = { readonly db: Database }

const attemptsMax = 3
/** The limit of a statement that works through old rows of all agents, such as the deletion of a month. */
const longStatementMs = 600_000

const kyselyByClient = new WeakMap<PoolClient, Kysely<DB> & { ids: Ids }>()
const clientByKysely = new WeakMap<Kysely<DB>, PoolClient>()

export const openDatabase = (options: PoolOptions & { readonly ids: Ids }): Database => ({
  ...openPools(options),
  ids: options.ids,
  statementMs: options.statementSeconds * 1_000,
})

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
  const handle = Object.assign(new Kysely<DB>({ dialect }), { ids, outboxIds: [] })
  kyselyByClient.set(client, handle)
  clientByKysely.set(handle, client)
  return handle
}

/** The outcome of a COMMIT that got no answer is unknown, so a refusal never says that nothing happened. */
const overloaded = (cause: unknown) => new Refusal('overloaded', { headers: { 'retry-after': '2' }, cause })

/** Whatever stops a connection is not the caller's fault: a full pool, a host that is gone, a server that refuses. */
const connect = async (pool: Pool): Promise<PoolClient> => {
  try {
    return await outsideRequests(() => pool.connect())
  } catch (error) {
    throw overloaded(error)
  }
}

const runInTransaction = async <T>(
  client: PoolClient,
  begin: string | undefined,
  work: () => Promise<T>,
): Promise<T> => {
  if (begin === undefined) return work()
  await client.query(begin)
  try {
    const result = await work()
    await client.query('commit')
    return result
  } catch (error) {
    // On a lost connection, a rollback would wait for its own deadline.
    if (!isClosed(client) && !endsConnection(error))
      await client.query('rollback').catch(() => destroyConnection(client))
    throw error
  }
}

type Limits = {
  readonly begin?: string | undefined
  readonly statementMs: number
  /** Default: the pool of the process. */
  readonly pool?: Pool
}

/**
 * Gives the outbox the trace of a request: rows that this transaction writes for the worker take it as their default. A
 * single statement that is traced becomes a transaction, two round trips longer.
 */
const withTrace = (begin: string | undefined): string | undefined => {
  const trace = currentTrace()
  return trace === undefined ? begin : `${begin ?? 'begin'}; set local "pohf.trace" = '${trace}'`
}

/** Retries after a deadlock or a serialization failure, up to three attempts in all. */
const runWithRetry = async <T>(
  ctx: WithDatabase,
  { begin, statementMs, pool = ctx.db.pool }: Limits,
  work: (tx: Tx) => Promise<T>,
): Promise<T> => {
  for (let attemptNumber = 1; ; attemptNumber++) {
    const client = await connect(pool)
    setStatementLimit(client, statementMs)
    try {
      const tx = kyselyFor(client, ctx.db.ids) as Tx
      tx.outboxIds.length = 0
      const result = await runInTransaction(client, begin, () => work(tx))
      noteOutboxRows(currentRequestScope(), tx.outboxIds)
      return result
    } catch (error) {
      if (error instanceof Refusal) throw error
      if (endsConnection(error)) destroyConnection(client)
      if (attemptNumber < attemptsMax && isRetryable(error)) continue
      throw isClosed(client) || isUnavailable(error) ? overloaded(error) : error
    } finally {
      client.release(isClosed(client))
    }
  }
}

/** The span has the name of what opened the transaction, and nothing of its statements. */
const withClient = <T>(ctx: WithDatabase, limits: Limits, work: (tx: Tx) => Promise<T>): Promise<T> => {
  const operation = currentSpan()?.name
  return operation === undefined
    ? runWithRetry(ctx, limits, work)
    : inSpan('database transaction', { kind: 'client', attributes: { 'pohf.operation': operation } }, () =>
        runWithRetry(ctx, { ...limits, begin: withTrace(limits.begin) }, work),
      )
}

const tenantPattern = /^(system|agt_[a-z0-9]{1,64})$/

/** Begins a transaction and sets its tenant, in one round trip. */
const beginAs = (tenant: Tenant): string => {
  if (!tenantPattern.test(tenant))
    throw new Error(`"${tenant}" is not a tenant: expected an agent id or system`)
  return `begin; set local "pohf.tenant" = '${tenant}'`
}

/**
 * Opens the one transaction of an operation, as this tenant. `work` may run up to three times, so it must have no
 * effect outside the database.
 */
export const inTransaction = async <T>(
  ctx: WithDatabase,
  tenant: Tenant,
  work: (tx: Tx) => Promise<T>,
): Promise<T> => withClient(ctx, { begin: beginAs(tenant), statementMs: ctx.db.statementMs }, work)

/**
 * As `inTransaction` for the system, on reserved connections: for short transactions that must not wait behind other
 * requests. These store chunks, and compare the database with the signers before a change.
 */
export const inReservedTransaction = async <T>(ctx: WithDatabase, work: (tx: Tx) => Promise<T>): Promise<T> =>
  withClient(ctx, { begin: beginAs('system'), statementMs: ctx.db.statementMs, pool: ctx.db.reserved }, work)

/** As `inTransaction`, for maintenance: its statements may take ten minutes. */
export const inLongTransaction = async <T>(
  ctx: WithDatabase,
  tenant: Tenant,
  work: (tx: Tx) => Promise<T>,
): Promise<T> => {
  const begin = `${beginAs(tenant)}; set local statement_timeout = ${longStatementMs}`
  return withClient(ctx, { begin, statementMs: longStatementMs }, work)
}

/**
 * Runs one statement that is its own transaction: one round trip, and its locks do not wait for this process. It has no
 * tenant, so row-level security hides the rows of agents: it reads tables that belong to no agent, or calls a SQL function that
 * sets the tenant itself.
 */
export const inSingleStatement = <T>(ctx: WithDatabase, work: (tx: Tx) => Promise<T>): Promise<T> =>
  withClient(ctx, { statementMs: ctx.db.statementMs }, work)

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

/** How long PostgreSQL may take for the check below; the connection is closed a second later. */
const writeCheckMs = 1_000

/**
 * Fails where the database takes no writes now. It reads no row and leaves none. The delete fails on a read-only or
 * demoted server, the series goes to a temporary file and so fails on a full disk, and the message lets the commit wait
 * for the disk and for synchronous standbys as a mint does. One round trip and one transaction.
 */
export const checkWrites = async (ctx: WithDatabase): Promise<void> => {
  await withClient(ctx, { statementMs: writeCheckMs }, (tx) =>
    sql`
      set local statement_timeout = ${sql.lit(writeCheckMs)};
      set local work_mem = '64kB';
      with nothing as (delete from mail_counts where false)
      select pg_logical_emit_message(true, 'pohf', 'ready'), count(*) from generate_series(1, 10000)`.execute(
      tx,
    ),
  )
}

/** Lets the statements of this transaction use a BRIN index, or two indexes for one table. */
export const permitBitmaps = async (tx: Tx): Promise<void> => {
  await sql`select set_config('enable_bitmapscan', 'on', true)`.execute(tx)
}

/** The database cluster and its timeline, which changes when a standby is promoted or a backup is restored. */
export const readDatabaseIdentity = async (tx: Tx): Promise<{ system: string; timeline: number }> => {
  const { rows } = await sql<{ system: string; timeline: string }>`
    select (select system_identifier from pg_control_system())::text as system,
      substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) as timeline`.execute(tx)
  const row = rows[0]
  if (!row) throw new Error(`${rows.length} rows of pg_control_system(), expected one`)
  return { system: row.system, timeline: Number.parseInt(row.timeline, 16) }
}

/** The database's time, by which rules decide. */
export const now = () => sql<Date>`pohf_now()`

/** Reads the database's time. */
export const readNow = async (tx: Tx): Promise<Date> => {
  const [row] = await executePrepared(tx, 'now', sql<{ now: Date }>`select pohf_now() as now`)
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
