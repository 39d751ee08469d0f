import { sql } from 'kysely'
import type { Mode } from '@pohf/protocol'
import type { Tx } from '../../platform/db/db.ts'
import { beaconLine, conversionLine, type SealedEntry } from '../spool/body.ts'

export type CopiedTable = 'beacons' | 'conversions'
const tableOf = { beacons: 'track_events', conversions: 'conversions' } as const
const cursorOf = { beacons: 'beacons_copied', conversions: 'conversions_copied' } as const

/** A time of storage as text: the database has microseconds, and Date has not. */
export type StorageTime = string

/**
 * Where the backfill of a table continues: after the last copied row, or before the first. Null where no row older than
 * `ripeSeconds` is left to copy. Younger rows wait, because transactions that began earlier may still add rows before them.
 */
export const findCopyStart = async (
  tx: Tx,
  kind: CopiedTable,
  ripeSeconds: number,
): Promise<{ readonly start: StorageTime; readonly end: StorageTime } | null> => {
  const { rows } = await sql<{ start: StorageTime | null; end: StorageTime }>`
    select (select min(at) - interval '1 microsecond' from ${sql.table(tableOf[kind])}
        where at > delivery.${sql.ref(cursorOf[kind])} and at <= bound.at)::text as start, bound.at::text as end
    from attention_delivery delivery, (select pohf_now() - make_interval(secs => ${ripeSeconds}) as at) bound
    where delivery.name = 'clickhouse'`.execute(tx)
  const [row] = rows
  return row?.start ? { start: row.start, end: row.end } : null
}

export const updateCopied = async (tx: Tx, kind: CopiedTable, copied: StorageTime): Promise<void> => {
  await sql`update attention_delivery set ${sql.ref(cursorOf[kind])} = ${copied}::timestamptz
    where name = 'clickhouse'`.execute(tx)
}

/** A chunk: rows that were stored within an hour, at most so many, and those with the same time as the last one. */
const rowsMax = 10_000
const windowHours = 1

export type CopyChunk = {
  readonly entries: readonly SealedEntry[]
  /** The time up to which the chunk has all rows. */
  readonly to: StorageTime
}

const chunkEnd = async (
  tx: Tx,
  kind: CopiedTable,
  start: StorageTime,
  end: StorageTime,
): Promise<StorageTime> => {
  const { rows } = await sql<{ to: StorageTime }>`
    select coalesce((select at from ${sql.table(tableOf[kind])} where at > ${start}::timestamptz and at <= bound.at
      order by at offset ${rowsMax - 1} limit 1), bound.at)::text as to
    from (select least(${start}::timestamptz + make_interval(hours => ${windowHours}), ${end}::timestamptz) as at) bound`.execute(
    tx,
  )
  const [row] = rows
  if (!row) throw new Error(`no end of a chunk of ${kind} after ${start}`)
  return row.to
}

type StoredRow = Omit<SealedEntry, 'lines' | 'withView' | 'kind'>
const rowColumns = sql`row.agent_id as "agentId", row.mode, row.session_id as "sessionId", row.viewed_at as "viewedAt",
  row.segment, row.at as "recordedAt"`

type StoredBeacon = StoredRow & {
  readonly seq: number
  readonly type: string
  readonly eventId: string | null
  readonly clientAt: Date | null
  readonly path: string | null
  readonly props: string | null
  readonly isFirstEngagement: boolean
}
const listBeacons = async (tx: Tx, start: StorageTime, to: StorageTime): Promise<SealedEntry[]> => {
  const { rows } = await sql<StoredBeacon>`
    select ${rowColumns}, row.page, row.seq, row.type, row.client_event_id as "eventId", row.client_at as "clientAt",
      row.path, row.props::text as props, row.first_engagement as "isFirstEngagement", named.path as landing
    from track_events row left join lateral (
      select known.path from attention_pages known where known.agent_id = row.agent_id
        and known.mode = row.mode and known.day = pohf_day(row.viewed_at) and known.page = row.page
      limit 1) named on true
    where row.at > ${start}::timestamptz and row.at <= ${to}::timestamptz
    order by row.at, row.agent_id, row.mode, row.session_id, row.seq`.execute(tx)
  return rows.map((row) => ({ ...row, kind: 'beacons', withView: row.seq === 1, lines: beaconLine(row) }))
}

type StoredConversion = StoredRow & {
  readonly eventId: string
  readonly name: string
  readonly value: number | null
  readonly currency: string | null
  readonly isFirstOfView: boolean
}
const listConversions = async (tx: Tx, start: StorageTime, to: StorageTime): Promise<SealedEntry[]> => {
  const { rows } = await sql<StoredConversion>`
    select ${rowColumns}, 0 as page, null as landing, row.event_id as "eventId", row.name, row.value, row.currency,
      row.first_of_view as "isFirstOfView"
    from conversions row where row.at > ${start}::timestamptz and row.at <= ${to}::timestamptz
    order by row.at, row.agent_id, row.event_id`.execute(tx)
  return rows.map((row) => ({
    ...row,
    kind: 'conversions',
    withView: row.isFirstOfView,
    lines: conversionLine(row),
  }))
}

/** The next rows in the order in which they were stored. The same call gives the same rows, whenever it is repeated. */
export const readCopyChunk = async (
  tx: Tx,
  kind: CopiedTable,
  start: StorageTime,
  end: StorageTime,
): Promise<CopyChunk> => {
  const to = await chunkEnd(tx, kind, start, end)
  return { entries: await (kind === 'beacons' ? listBeacons : listConversions)(tx, start, to), to }
}

/** A row of ClickHouse that is copied back to PostgreSQL. */
export type ReturnedBeacon = {
  readonly agentId: string
  readonly mode: Mode
  readonly sessionId: string
  readonly viewedAt: string
  readonly segment: number
  readonly page: number
  readonly seq: number
  readonly at: string
  readonly type: string
  readonly eventId: string | null
  readonly clientAt: string | null
  readonly path: string | null
  readonly props: string
  readonly isFirstEngagement: number
}
export type ReturnedConversion = Pick<
  ReturnedBeacon,
  'agentId' | 'mode' | 'sessionId' | 'viewedAt' | 'segment' | 'at'
> & {
  readonly eventId: string
  readonly name: string
  readonly value: string | null
  readonly currency: string
  readonly isFirstOfView: number
}

/** Stores rows that came from ClickHouse. Those that are there already are left alone, and not counted again. */
export const insertReturnedBeacons = async (tx: Tx, rows: readonly ReturnedBeacon[]): Promise<void> => {
  await sql`
    insert into track_events (agent_id, mode, session_id, viewed_at, segment, page, seq, at, type, client_event_id, client_at,
      path, props, first_engagement)
    select row."agentId", row.mode, row."sessionId", row."viewedAt", row.segment, row.page, row.seq, row.at, row.type,
      row."eventId", row."clientAt", row.path, nullif(row.props, '')::jsonb, row."isFirstEngagement" = 1
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) row ("agentId" text, mode text, "sessionId" text,
      "viewedAt" timestamptz, segment smallint, page smallint, seq int, at timestamptz, type text, "eventId" text,
      "clientAt" timestamptz, path text, props text, "isFirstEngagement" int)
    on conflict do nothing`.execute(tx)
}

export const insertReturnedConversions = async (
  tx: Tx,
  rows: readonly ReturnedConversion[],
): Promise<void> => {
  await sql`
    insert into conversions (agent_id, mode, session_id, viewed_at, segment, event_id, at, name, value, currency, first_of_view)
    select row."agentId", row.mode, row."sessionId", row."viewedAt", row.segment, row."eventId", row.at, row.name, row.value,
      nullif(row.currency, 'XXX'), row."isFirstOfView" = 1
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) row ("agentId" text, mode text, "sessionId" text,
      "viewedAt" timestamptz, segment smallint, "eventId" text, at timestamptz, name text, value double precision,
      currency text, "isFirstOfView" int)
    on conflict do nothing`.execute(tx)
}

/** How many batches were copied back, and how many were sealed. */
export const countReturnedBatches = async (
  tx: Tx,
): Promise<{ readonly returned: number; readonly sealed: number }> => {
  const { rows } = await sql<{ returned: number; sealed: number }>`
    select returned::float8 as returned, sealed::float8 as sealed from attention_delivery where name = 'clickhouse'`.execute(
    tx,
  )
  return rows[0] ?? { returned: 0, sealed: 0 }
}

export const updateReturned = async (tx: Tx, batch: number): Promise<void> => {
  await sql`update attention_delivery set returned = ${batch} where name = 'clickhouse' and returned < ${batch}`.execute(
    tx,
  )
}
