import { Socket } from 'node:net'
import { Client, DatabaseError, Pool, type ClientConfig, type PoolClient } from 'pg'
import type { Logger } from '../ops/log.ts'
import type { Metrics } from '../ops/metrics.ts'

export type PoolOptions = {
  readonly url: string
  readonly poolSize: number
  readonly waitSeconds: number
  readonly statementSeconds: number
  readonly log: Logger
  readonly metrics: Metrics
  readonly name: string
}

/** The role of the program: neither owner nor superuser, so that row-level security applies. */
const applicationRole = 'pohf_app'
/**
 * Every statement has an index that finds its rows one by one, in the order of the result. Without statistics PostgreSQL
 * assumes that the rows of a table are evenly spread. It then reads the whole table where the partial index of a statement
 * is empty, and it collects and sorts all rows after a position where the index would return one page. A sequential scan
 * that remains looks so expensive under these settings that PostgreSQL would compile it first, or give it to parallel
 * workers, which read past the limit: both are off.
 */
const planSettings =
  '-c enable_seqscan=off -c enable_bitmapscan=off -c jit=off -c max_parallel_workers_per_gather=0'
/**
 * How much later than the server's own limit a statement expires here: a server that can answer stops the statement itself.
 * The socket is destroyed and no cancel request is sent: a cancelled wait for a synchronous standby confirms a COMMIT.
 */
const graceMs = 1_000
/** An idle connection to a host that is gone is closed after 20 s: Linux sends ten probes, one per second. */
const keepAliveDelayMs = 10_000
/** The server closes its side of such a connection after 25 s: otherwise its sessions use up max_connections. */
const serverKeepAlive = '-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3'
/** How long the server has to close its side of a connection that the pool ends. */
const closeWaitMs = 1_000

/** A pooled connection as this module knows it. */
type Connection = { readonly socket: Socket; readonly openedAt: number; deadlineMs: number }
const connections = new WeakMap<object, Connection>()

const connectionOf = (client: PoolClient): Connection => {
  const connection = connections.get(client)
  if (!connection)
    throw new Error(`${client.constructor.name} was not opened by openPools, so its socket is not known`)
  return connection
}

/** Whether the connection is closed, by either side or by a deadline. */
export const isClosed = (client: PoolClient): boolean => connectionOf(client).socket.destroyed

/** Closes the socket at once. `end()` of the driver would wait for an answer of the server. */
export const destroyConnection = (client: PoolClient): void => {
  connectionOf(client).socket.destroy()
}

/** Sets how long the statements of a connection may take, from here on. */
export const setStatementLimit = (client: PoolClient, statementMs: number): void => {
  connectionOf(client).deadlineMs = statementMs + graceMs
}

/**
 * Counts statements and ends those that get no answer. If the database has answered nothing at all since such a statement
 * was sent, every connection of that time is destroyed: idle ones would fail their next statements too.
 */
const makeWatchdog = ({ log, metrics, statementSeconds }: PoolOptions) => {
  const open = new Set<Connection>()
  let statements = 0
  let answeredAt = 0

  const rebuild = (sentAt: number): void => {
    const doubtful = [...open].filter(({ openedAt }) => openedAt <= sentAt)
    const silentMs = Math.round(performance.now() - sentAt)
    metrics.poolRebuilds.inc()
    log.error(
      { connections: doubtful.length, silentMs },
      'database answers nothing; all its connections are closed',
    )
    for (const { socket } of doubtful)
      socket.destroy(new Error(`connection closed: the database answered nothing for ${silentMs} ms`))
  }

  const expire = (connection: Connection, sentAt: number, deadlineMs: number): void => {
    metrics.statementDeadlines.inc()
    connection.socket.destroy(new Error(`no answer of the database within ${deadlineMs} ms`))
    if (deadlineMs >= statementSeconds * 1_000 && answeredAt < sentAt) rebuild(sentAt)
  }

  return {
    statements: () => statements,
    add: (connection: Connection): void => {
      open.add(connection)
      connection.socket.once('close', () => open.delete(connection))
    },
    /** Begins the deadline of a statement; the caller reports its end. */
    begin: (connection: Connection): ((error?: unknown) => void) => {
      statements += 1
      const sentAt = performance.now()
      const { deadlineMs } = connection
      let ended = false
      // After a pause of this process, answers that have arrived are read before the statement counts as expired.
      const timer = setTimeout(
        () => setImmediate(() => ended || expire(connection, sentAt, deadlineMs)),
        deadlineMs,
      )
      return (error) => {
        ended = true
        clearTimeout(timer)
        if (!error || error instanceof DatabaseError) answeredAt = performance.now()
      }
    },
  }
}
type Watchdog = ReturnType<typeof makeWatchdog>

/** Wraps `query` of a client, with a callback or a promise, so that each statement has its deadline. */
const withDeadline =
  (send: (...parameters: unknown[]) => unknown, begin: () => (error?: unknown) => void) =>
  (...parameters: unknown[]): unknown => {
    const end = begin()
    const callback = parameters.at(-1)
    if (typeof callback === 'function')
      return send(...parameters.slice(0, -1), (error: unknown, result: unknown) => {
        end(error)
        Reflect.apply(callback, undefined, [error, result])
      })
    const answer = send(...parameters) as Promise<unknown>
    answer.then(() => end(), end)
    return answer
  }

/** The clients of one pool. Each has a socket that we can destroy, whatever the client waits for. */
const makeClientClass = (watchdog: Watchdog, statementMs: number) =>
  class PooledClient extends Client {
    constructor(config?: ClientConfig) {
      const socket = new Socket()
      super({ ...config, stream: () => socket })
      const connection = { socket, openedAt: performance.now(), deadlineMs: statementMs + graceMs }
      connections.set(this, connection)
      watchdog.add(connection)
      socket.once('finish', () => setTimeout(() => socket.destroy(), closeWaitMs).unref())
      // The pool listens only while a connection is idle. A connection lost in use fails its statement, not the process. It is
      // closed here too: the driver refuses its statements from now on, and the server's side may end later.
      this.on('error', () => socket.destroy())
      const send = this.query.bind(this) as (...parameters: unknown[]) => unknown
      Object.assign(this, { query: withDeadline(send, () => watchdog.begin(connection)) })
    }
  }

/** Connections that most requests never take. For chunks: while one batch is written, the next is verified. */
const reservedConnections = 2

const makePool = (options: PoolOptions, max: number, watchdog: Watchdog): Pool => {
  const { waitSeconds, statementSeconds, log } = options
  const pool = new Pool({
    connectionString: options.url,
    max,
    connectionTimeoutMillis: waitSeconds * 1_000,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveDelayMs,
    statement_timeout: statementSeconds * 1_000,
    lock_timeout: waitSeconds * 1_000,
    idle_in_transaction_session_timeout: waitSeconds * 2_000,
    application_name: options.name,
    options: `-c role=${applicationRole} -c timezone=UTC ${serverKeepAlive} ${planSettings}`,
    Client: makeClientClass(watchdog, statementSeconds * 1_000),
  })
  // A lost idle connection is replaced by the pool; without a listener it would end the process. Only the message is
  // logged: the error has the whole client as a field, with the key for cancel requests.
  pool.on('error', (error) => log.warn({ reason: error.message }, 'idle database connection lost'))
  return pool
}

type Pools = {
  readonly pool: Pool
  /** Its connections open with the first transaction. */
  readonly reserved: Pool
  readonly statements: () => number
  readonly connectionChanges: () => number
  /** Closes every connection. */
  readonly end: () => Promise<void>
}

/** Opens the pools of a process. Their connections replace themselves after any fault; nothing has to be restarted. */
export const openPools = (options: PoolOptions): Pools => {
  const watchdog = makeWatchdog(options)
  const pool = makePool(options, options.poolSize, watchdog)
  const reserved = makePool(options, reservedConnections, watchdog)
  let changes = 0
  const noteChange = () => (changes += 1)
  for (const one of [pool, reserved]) one.on('connect', noteChange).on('remove', noteChange)
  return {
    pool,
    reserved,
    statements: watchdog.statements,
    connectionChanges: () => changes,
    end: async () => {
      await Promise.all([pool.end(), reserved.end()])
    },
  }
}
