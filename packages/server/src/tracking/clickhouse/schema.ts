import { beaconMonths } from '../store.ts'

/** Tables of rows, which the delivery writes, and tables of figures by the hour, which materialized views write. */
export const rawTables = ['views', 'beacons', 'conversions'] as const
export const hourTables = ['beacon_hours', 'landing_hours', 'conversion_hours'] as const
export type RawTable = (typeof rawTables)[number]
export type HourTable = (typeof hourTables)[number]

type Table = {
  readonly name: RawTable | HourTable
  readonly engine: 'Replacing' | 'Summing'
  /** The column by which rows are ordered in time, kept and partitioned. */
  readonly time: 'viewed_at' | 'hour'
  readonly columns: readonly string[]
  readonly order: readonly string[]
  readonly isKept: boolean
}

const viewColumns = [
  'agent_id String',
  "mode Enum8('live' = 1, 'test' = 2)",
  "viewed_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1))",
  'session_id String CODEC(ZSTD(1))',
  'site LowCardinality(String)',
  'workflow LowCardinality(String)',
  // The number of site and workflow in PostgreSQL, for copying rows back.
  'segment Int16',
]
const batchColumns = ['batch UInt64 CODEC(Delta, ZSTD(1))', 'INDEX by_batch batch TYPE minmax GRANULARITY 1']
const timeColumn = (name: string) => `${name} DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1))`
const hourColumns = [
  'agent_id String',
  "mode Enum8('live' = 1, 'test' = 2)",
  "hour DateTime('UTC')",
  'site LowCardinality(String)',
  'workflow LowCardinality(String)',
]
const hourOrder = ['agent_id', 'mode', 'hour', 'site', 'workflow']

const tables: readonly Table[] = [
  {
    name: 'views',
    engine: 'Replacing',
    time: 'viewed_at',
    columns: [
      ...viewColumns,
      'quality Nullable(Float64)',
      'flags Array(LowCardinality(String))',
      ...batchColumns,
    ],
    order: ['agent_id', 'mode', 'viewed_at', 'session_id'],
    isKept: false,
  },
  {
    name: 'beacons',
    engine: 'Replacing',
    time: 'viewed_at',
    columns: [
      ...viewColumns,
      'landing LowCardinality(String)',
      'page Int16',
      'seq UInt16',
      timeColumn('at'),
      'type LowCardinality(String)',
      'client_event_id Nullable(String) CODEC(ZSTD(1))',
      "client_at Nullable(DateTime64(3, 'UTC')) CODEC(ZSTD(1))",
      'path Nullable(String) CODEC(ZSTD(1))',
      'props String CODEC(ZSTD(1))',
      'first_engagement UInt8',
      ...batchColumns,
    ],
    order: ['agent_id', 'mode', 'viewed_at', 'session_id', 'seq'],
    isKept: false,
  },
  {
    name: 'conversions',
    engine: 'Replacing',
    time: 'viewed_at',
    columns: [
      ...viewColumns,
      'event_id String CODEC(ZSTD(1))',
      timeColumn('at'),
      'name String CODEC(ZSTD(1))',
      'value Nullable(Decimal(38, 18)) CODEC(ZSTD(1))',
      'currency LowCardinality(String)',
      'first_of_view UInt8',
      ...batchColumns,
    ],
    order: ['agent_id', 'mode', 'viewed_at', 'session_id', 'event_id'],
    isKept: true,
  },
  {
    name: 'beacon_hours',
    engine: 'Summing',
    time: 'hour',
    columns: [...hourColumns, 'beacons UInt64', 'landed UInt64', 'engaged UInt64'],
    order: hourOrder,
    isKept: false,
  },
  {
    name: 'landing_hours',
    engine: 'Summing',
    time: 'hour',
    columns: [...hourColumns, 'landing LowCardinality(String)', 'landed UInt64', 'engaged UInt64'],
    order: [...hourOrder, 'landing'],
    isKept: false,
  },
  {
    name: 'conversion_hours',
    engine: 'Summing',
    time: 'hour',
    columns: [
      ...hourColumns,
      'currency LowCardinality(String)',
      'conversions UInt64',
      'converted UInt64',
      'valued UInt64',
      'total Decimal(38, 18)',
    ],
    order: [...hourOrder, 'currency'],
    isKept: true,
  },
]

const hourOf = 'agent_id, mode, toStartOfHour(viewed_at) AS hour, site, workflow'

/** The figures of a table of hours, counted from rows; `from` is what follows the columns. */
export const hourSources: Readonly<Record<HourTable, { readonly raw: RawTable; readonly select: string }>> = {
  beacon_hours: {
    raw: 'beacons',
    select: `SELECT ${hourOf}, count() AS beacons, countIf(seq = 1) AS landed, sum(first_engagement) AS engaged FROM {raw} GROUP BY agent_id, mode, hour, site, workflow`,
  },
  landing_hours: {
    raw: 'beacons',
    select: `SELECT ${hourOf}, landing, countIf(seq = 1) AS landed, sum(first_engagement) AS engaged FROM {raw} GROUP BY agent_id, mode, hour, site, workflow, landing`,
  },
  conversion_hours: {
    raw: 'conversions',
    select: `SELECT ${hourOf}, currency, count() AS conversions, sum(first_of_view) AS converted, count(value) AS valued, sum(ifNull(value, 0)) AS total FROM {raw} GROUP BY agent_id, mode, hour, site, workflow, currency`,
  },
}

/** As PostgreSQL drops the figures of beacons: whole months of the view, in UTC. */
const ttlOf = ({ time, isKept }: Table): string =>
  isKept ? '' : `\nTTL toStartOfMonth(toDateTime(${time}, 'UTC')) + INTERVAL ${beaconMonths + 1} MONTH`

/** How many tokens a table remembers. The delivery has one batch open, so that only the last one is ever sent again. */
const tokensKept = 10_000

const engineOf = (table: Table, cluster: string | undefined): string =>
  cluster === undefined
    ? `${table.engine}MergeTree`
    : `Replicated${table.engine}MergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')`

const settingsOf = (cluster: string | undefined): string => {
  const window =
    cluster === undefined ? 'non_replicated_deduplication_window' : 'replicated_deduplication_window'
  return `SETTINGS ${window} = ${tokensKept}, fsync_after_insert = 1, fsync_part_directory = 1, ttl_only_drop_parts = 1`
}

const tableStatement = (table: Table, database: string, cluster: string | undefined): string => {
  const name = cluster === undefined ? table.name : `${table.name}_local`
  return `CREATE TABLE IF NOT EXISTS ${database}.${name}${onCluster(cluster)} (
  ${table.columns.join(',\n  ')}
) ENGINE = ${engineOf(table, cluster)}
PARTITION BY toYYYYMM(${table.time})
ORDER BY (${table.order.join(', ')})${ttlOf(table)}
${settingsOf(cluster)}`
}

const onCluster = (cluster: string | undefined): string =>
  cluster === undefined ? '' : ` ON CLUSTER '${cluster}'`

/** An agent is on one shard, so that FINAL and distinct counts of its rows are exact. */
const distributedStatement = (table: Table, database: string, cluster: string): string =>
  `CREATE TABLE IF NOT EXISTS ${database}.${table.name} ON CLUSTER '${cluster}' AS ${database}.${table.name}_local
ENGINE = Distributed('${cluster}', '${database}', '${table.name}_local', sipHash64(agent_id))`

const viewStatement = (name: HourTable, database: string, cluster: string | undefined): string => {
  const suffix = cluster === undefined ? '' : '_local'
  const { raw, select } = hourSources[name]
  return `CREATE MATERIALIZED VIEW IF NOT EXISTS ${database}.to_${name}${onCluster(cluster)}
TO ${database}.${name}${suffix} AS
${select.replace('{raw}', `${database}.${raw}${suffix}`)}`
}

/** The statements that make the tables, in their order; safe to run again. With a cluster: replicated and distributed. */
export const schemaStatements = (database: string, cluster?: string): string[] => [
  `CREATE DATABASE IF NOT EXISTS ${database}${onCluster(cluster)}`,
  ...tables.map((table) => tableStatement(table, database, cluster)),
  ...hourTables.map((name) => viewStatement(name, database, cluster)),
  ...(cluster === undefined ? [] : tables.map((table) => distributedStatement(table, database, cluster))),
]
