import { Readable } from 'node:stream'
import type { ClickHouseClient, ClickHouseSettings } from '@clickhouse/client'
import { loadOnce } from '../ops/load-once.ts'

export type Parameters = Readonly<
  Record<string, string | number | Date | readonly string[] | readonly number[]>
>

/** The second database of attention analytics. Statements are in stores, as those of PostgreSQL. */
export type ClickHouse = {
  readonly database: string
  readonly select: <Row>(statement: string, parameters?: Parameters) => Promise<Row[]>
  /** A statement without rows. It may take ten minutes: a recount of a month, the erasure of an agent. */
  readonly run: (statement: string, parameters?: Parameters) => Promise<void>
  /** Inserts rows, each a line of JSON. For each table ClickHouse counts a token once, whatever the lines are. */
  readonly insertLines: (table: string, lines: string, token: string) => Promise<void>
  readonly close: () => Promise<void>
}

const timeoutSeconds = 30
const longTimeoutSeconds = 600
export const defaultDatabase = 'pohf'

/**
 * One block for each partition, the same at every attempt, so that the token stands for the same rows. Without
 * `deduplicate_blocks_in_dependent_materialized_views` the figures by the hour would count every attempt.
 */
const countOnce = (token: string): ClickHouseSettings => ({
  insert_deduplication_token: token,
  insert_deduplicate: 1,
  deduplicate_blocks_in_dependent_materialized_views: 1,
  async_insert: 0,
  optimize_on_insert: 0,
  max_insert_threads: '1',
  max_insert_block_size: '1000000',
  min_insert_block_size_rows: '1000000',
  input_format_parallel_parsing: 0,
  date_time_input_format: 'best_effort',
  // On a cluster: stored by the shard before the answer.
  distributed_foreground_insert: 1,
})

const split = (url: string): { readonly server: string; readonly database: string } => {
  const address = new URL(url)
  const database = address.pathname.slice(1)
  address.pathname = '/'
  return { server: address.href, database: database === '' ? defaultDatabase : database }
}

const limits = (seconds: number) => ({
  abort_signal: AbortSignal.timeout((seconds + 1) * 1_000),
  clickhouse_settings: { max_execution_time: seconds },
})

/** Imports the client with the first statement: it takes 40 ms of CPU, and most deployments have no ClickHouse. */
const connect = async (server: string): Promise<ClickHouseClient> => {
  const { ClickHouseLogLevel, createClient } = await import('@clickhouse/client')
  return createClient({
    url: server,
    application: 'pohf',
    request_timeout: (longTimeoutSeconds + 1) * 1_000,
    max_open_connections: 10,
    keep_alive: { enabled: true, idle_socket_ttl: 2_000 },
    log: { level: ClickHouseLogLevel.OFF },
  })
}

/** Connects at the first statement: a ClickHouse that is away does not keep the service from starting. */
export const openClickHouse = (url: string, selectSeconds = timeoutSeconds): ClickHouse => {
  const { server, database } = split(url)
  let connected: ClickHouseClient | undefined
  const open = loadOnce(async () => (connected = await connect(server)))
  return {
    database,
    select: async <Row>(statement: string, parameters: Parameters = {}): Promise<Row[]> => {
      const limit = limits(selectSeconds)
      const client = await open()
      const answer = await client.query({
        query: statement,
        query_params: { ...parameters },
        format: 'JSONEachRow',
        ...limit,
        clickhouse_settings: { ...limit.clickhouse_settings, output_format_json_quote_64bit_integers: 0 },
      })
      return answer.json<Row>()
    },
    run: async (statement, parameters = {}) => {
      const client = await open()
      await client.command({
        query: statement,
        query_params: { ...parameters },
        ...limits(longTimeoutSeconds),
      })
    },
    insertLines: async (table, lines, token) => {
      const limit = limits(timeoutSeconds)
      const client = await open()
      const { stream } = await client.exec({
        query: `INSERT INTO ${database}.${table} FORMAT JSONEachRow`,
        values: Readable.from([lines], { objectMode: false }),
        ...limit,
        clickhouse_settings: { ...limit.clickhouse_settings, ...countOnce(token) },
      })
      for await (const _ of stream) continue
    },
    close: async () => {
      await connected?.close()
    },
  }
}
