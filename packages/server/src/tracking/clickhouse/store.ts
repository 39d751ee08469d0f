import type { ClickHouse, Parameters } from '../../platform/db/clickhouse.ts'
import { splitByHours } from '../../platform/db/hours.ts'
import type { ViewWindow } from '../../sessions/index.ts'
import type { FunnelFigures, PageFigures } from '../engines/port.ts'
import type { ReturnedBeacon, ReturnedConversion } from '../copying/store.ts'
import { hourSources, hourTables, rawTables, type HourTable, type RawTable } from './schema.ts'

type Conditions = { readonly whole: string; readonly part: string; readonly parameters: Parameters }

const timeParameter = (name: string) => `{${name}:DateTime64(3, 'UTC')}`

/**
 * Whole hours are read from the figures by the hour, the parts of an hour at both ends of the window from the rows, so
 * that figures are exact to the millisecond.
 */
const conditionsOf = ({ agentId, mode, since, until, site, workflow }: ViewWindow): Conditions => {
  const { whole, parts } = splitByHours({ from: since, to: until })
  const who = [
    'agent_id = {agent:String} AND mode = {mode:String}',
    ...(site === null ? [] : ['site = {site:String}']),
    ...(workflow === null ? [] : ['workflow = {workflow:String}']),
  ].join(' AND ')
  const hours = whole
    ? `hour >= ${timeParameter('from')}${whole.to ? ` AND hour < ${timeParameter('to')}` : ''}`
    : '0'
  const rows = parts.map(
    (_, n) => `(viewed_at >= ${timeParameter(`from${n}`)} AND viewed_at < ${timeParameter(`to${n}`)})`,
  )
  return {
    whole: `${who} AND ${hours}`,
    part: `${who} AND ${rows.length === 0 ? '0' : `(${rows.join(' OR ')})`}`,
    parameters: {
      agent: agentId,
      mode,
      ...(site === null ? {} : { site }),
      ...(workflow === null ? {} : { workflow }),
      ...(whole ? { from: whole.from } : {}),
      ...(whole?.to ? { to: whole.to } : {}),
      ...Object.fromEntries(
        parts.flatMap(({ from, to }, n) => [
          [`from${n}`, from],
          [`to${n}`, to],
        ]),
      ),
    },
  }
}

type BeaconFigures = Pick<FunnelFigures, 'landed' | 'engaged'>

const findBeaconFigures = async (db: ClickHouse, window: ViewWindow): Promise<BeaconFigures> => {
  const { whole, part, parameters } = conditionsOf(window)
  const [row] = await db.select<BeaconFigures>(
    `SELECT sum(a) AS landed, sum(b) AS engaged FROM (
      SELECT landed AS a, engaged AS b FROM ${db.database}.beacon_hours WHERE ${whole}
      UNION ALL
      SELECT countIf(seq = 1) AS a, sum(first_engagement) AS b FROM ${db.database}.beacons FINAL WHERE ${part})`,
    parameters,
  )
  return { landed: row?.landed ?? 0, engaged: row?.engaged ?? 0 }
}

const currenciesMax = 200

type CurrencyFigures = {
  readonly code: string
  readonly conversions: number
  readonly converted: number
  readonly valued: number
  readonly total: number
}

const listCurrencyFigures = async (db: ClickHouse, window: ViewWindow): Promise<CurrencyFigures[]> => {
  const { whole, part, parameters } = conditionsOf(window)
  return db.select<CurrencyFigures>(
    `SELECT toString(c) AS code, sum(n) AS conversions, sum(f) AS converted, sum(v) AS valued, toFloat64(sum(t)) AS total FROM (
      SELECT currency AS c, conversions AS n, converted AS f, valued AS v, total AS t
      FROM ${db.database}.conversion_hours WHERE ${whole}
      UNION ALL
      SELECT currency AS c, count() AS n, sum(first_of_view) AS f, count(value) AS v, sum(ifNull(value, 0)) AS t
      FROM ${db.database}.conversions FINAL WHERE ${part} GROUP BY c)
    GROUP BY code ORDER BY valued DESC, code`,
    parameters,
  )
}

/** What the funnel counts of beacons and conversions; verified views are counted by PostgreSQL. */
export const findFunnelFigures = async (
  db: ClickHouse,
  window: ViewWindow,
): Promise<Omit<FunnelFigures, 'views' | 'countedUntil'>> => {
  const [beacons, currencies] = await Promise.all([
    findBeaconFigures(db, window),
    listCurrencyFigures(db, window),
  ])
  const sum = (name: 'conversions' | 'converted') => currencies.reduce((total, row) => total + row[name], 0)
  return {
    ...beacons,
    conversions: sum('conversions'),
    converted: sum('converted'),
    values: currencies
      .filter(({ valued }) => valued > 0)
      .slice(0, currenciesMax)
      .map(({ code, total }) => ({ code, total })),
  }
}

/** Pages on which views began: those with the most views first. */
export const listPageFigures = async (
  db: ClickHouse,
  window: ViewWindow,
  limit: number,
): Promise<PageFigures[]> => {
  const { whole, part, parameters } = conditionsOf(window)
  return db.select<PageFigures>(
    `SELECT toString(p) AS path, sum(a) AS landed, sum(b) AS engaged FROM (
      SELECT landing AS p, landed AS a, engaged AS b FROM ${db.database}.landing_hours WHERE ${whole}
      UNION ALL
      SELECT landing AS p, countIf(seq = 1) AS a, sum(first_engagement) AS b
      FROM ${db.database}.beacons FINAL WHERE ${part} GROUP BY p)
    GROUP BY path HAVING landed > 0 OR engaged > 0 ORDER BY landed DESC, path LIMIT {limit:UInt32}`,
    { ...parameters, limit },
  )
}

/** Tables that the database lacks. */
export const listMissingTables = async (db: ClickHouse): Promise<string[]> => {
  const found = await db.select<{ name: string }>(
    'SELECT name FROM system.tables WHERE database = {database:String}',
    { database: db.database },
  )
  const names = new Set(found.map(({ name }) => name))
  return [...rawTables, ...hourTables, ...hourTables.map((name) => `to_${name}`)].filter(
    (name) => !names.has(name),
  )
}

/** Whether the tables are replicated, as `--cluster` makes them. */
export const isReplicated = async (db: ClickHouse): Promise<boolean> => {
  const [row] = await db.select<{ n: number }>(
    "SELECT count() AS n FROM system.tables WHERE database = {database:String} AND engine LIKE 'Replicated%'",
    { database: db.database },
  )
  return (row?.n ?? 0) > 0
}

/** How many rows of each batch are stored, each counted once. */
export const countBatchRows = async (
  db: ClickHouse,
  table: Exclude<RawTable, 'views'>,
  range: { readonly after: number; readonly to: number },
): Promise<Map<number, number>> => {
  const rows = await db.select<{ batch: number; n: number }>(
    `SELECT batch, count() AS n FROM ${db.database}.${table} FINAL
     WHERE batch > {after:UInt64} AND batch <= {to:UInt64} GROUP BY batch`,
    range,
  )
  return new Map(rows.map(({ batch, n }) => [batch, n]))
}

export type MonthSums = { readonly month: number; readonly sums: string }

const sumsOf: Readonly<Record<HourTable, string>> = {
  beacon_hours: 'sum(beacons), sum(landed), sum(engaged)',
  landing_hours: 'sum(landed), sum(engaged)',
  conversion_hours: 'sum(conversions), sum(converted), sum(valued), sum(total)',
}

/** The sums of a table of hours by month: as they are stored, or counted again from the rows. */
export const listMonthSums = async (
  db: ClickHouse,
  table: HourTable,
  source: 'stored' | 'counted',
): Promise<MonthSums[]> => {
  const { raw, select } = hourSources[table]
  const from =
    source === 'stored'
      ? `${db.database}.${table}`
      : `(${select.replace('{raw}', `${db.database}.${raw} FINAL`)})`
  return db.select<MonthSums>(
    `SELECT toYYYYMM(hour) AS month, toString(tuple(${sumsOf[table]})) AS sums FROM ${from} GROUP BY month ORDER BY month`,
  )
}

/** Counts a month of a table of hours again from the rows, and puts it in the place of the stored one at once. */
export const replaceMonth = async (db: ClickHouse, table: HourTable, month: number): Promise<void> => {
  const { raw, select } = hourSources[table]
  const fresh = `${db.database}.${table}_new`
  const of = `${db.database}.${raw} FINAL WHERE toYYYYMM(viewed_at) = ${Math.trunc(month)}`
  await db.run(`DROP TABLE IF EXISTS ${fresh} SYNC`)
  await db.run(`CREATE TABLE ${fresh} AS ${db.database}.${table}`)
  await db.run(`INSERT INTO ${fresh} ${select.replace('{raw}', of)}`)
  await db.run(`ALTER TABLE ${db.database}.${table} REPLACE PARTITION ${Math.trunc(month)} FROM ${fresh}`)
  await db.run(`DROP TABLE ${fresh} SYNC`)
}

/** Deletes the rows of a view, or of an agent with its figures, from the disk. */
export const deleteRows = async (
  db: ClickHouse,
  { agentId, sessionId }: { readonly agentId: string; readonly sessionId: string | null },
): Promise<void> => {
  const tables = sessionId === null ? [...rawTables, ...hourTables] : rawTables
  const where = `agent_id = {agent:String}${sessionId === null ? '' : ' AND session_id = {session:String}'}`
  const parameters = { agent: agentId, ...(sessionId === null ? {} : { session: sessionId }) }
  for (const table of tables)
    await db.run(
      `ALTER TABLE ${db.database}.${table} DELETE WHERE ${where} SETTINGS mutations_sync = 2`,
      parameters,
    )
}

const rowColumns = `agent_id AS agentId, toString(mode) AS mode, session_id AS sessionId, segment,
  formatDateTime(viewed_at, '%Y-%m-%dT%H:%i:%S.%fZ', 'UTC') AS viewedAt, formatDateTime(at, '%Y-%m-%dT%H:%i:%S.%fZ', 'UTC') AS at`

/** The rows of a batch, to be copied back to PostgreSQL. */
export const listBatchBeacons = (db: ClickHouse, batch: number): Promise<ReturnedBeacon[]> =>
  db.select<ReturnedBeacon>(
    `SELECT ${rowColumns}, page, seq, toString(type) AS type, client_event_id AS eventId,
      formatDateTime(client_at, '%Y-%m-%dT%H:%i:%S.%fZ', 'UTC') AS clientAt, path, props, first_engagement AS isFirstEngagement
     FROM ${db.database}.beacons FINAL WHERE batch = {batch:UInt64}`,
    { batch },
  )

export const listBatchConversions = (db: ClickHouse, batch: number): Promise<ReturnedConversion[]> =>
  db.select<ReturnedConversion>(
    `SELECT ${rowColumns}, event_id AS eventId, name, toString(value) AS value, toString(currency) AS currency,
      first_of_view AS isFirstOfView
     FROM ${db.database}.conversions FINAL WHERE batch = {batch:UInt64}`,
    { batch },
  )
