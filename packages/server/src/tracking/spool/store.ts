import { sql } from 'kysely'
import type { Tx } from '../../platform/db/db.ts'
import type { SealedEntry } from './body.ts'

/** What one call stores for one view: rows of one kind. */
export type SpoolEntry = Omit<SealedEntry, 'lines' | 'landing' | 'recordedAt'> & {
  readonly lines: readonly string[]
}

export const insertSpoolEntries = async (tx: Tx, entries: readonly SpoolEntry[]): Promise<void> => {
  if (entries.length === 0) return
  const column = <T>(value: (entry: SpoolEntry) => T): T[] => entries.map(value)
  await sql`
    insert into attention_spool
      (agent_id, mode, session_id, viewed_at, segment, page, kind, with_view, rows, lines)
    select * from unnest(${column((entry) => entry.agentId)}::text[], ${column((entry) => entry.mode)}::text[],
      ${column((entry) => entry.sessionId)}::text[], ${column((entry) => entry.viewedAt)}::timestamptz[],
      ${column((entry) => entry.segment)}::smallint[], ${column((entry) => entry.page)}::smallint[],
      ${column((entry) => entry.kind)}::text[], ${column((entry) => entry.withView)}::boolean[],
      ${column((entry) => entry.lines.length)}::int[], ${column((entry) => entry.lines.join('\n'))}::text[])`.execute(
    tx,
  )
}

export type SpoolState = {
  /** When the oldest entry was recorded; null where none waits. */
  readonly oldestAt: Date | null
  readonly lagSeconds: number
  readonly entries: number
}

/** What waits, of all agents: an index look-up at each end of the spool. */
export const findSpoolState = async (tx: Tx): Promise<SpoolState> => {
  const { rows } = await sql<SpoolState>`
    select oldest_at as "oldestAt", entries::float8 as entries,
      greatest(coalesce(extract(epoch from pohf_now() - oldest_at), 0), 0)::float8 as "lagSeconds"
    from attention_spool_state()`.execute(tx)
  return rows[0] ?? { oldestAt: null, lagSeconds: 0, entries: 0 }
}

/** The bounds of a batch. One entry alone may be larger: a body of 64 KB is one. */
const entriesMax = 20_000
const bytesMax = 8_388_608

const sealBatch = async (tx: Tx): Promise<void> => {
  await sql`
    with taken as materialized (
      select spool_no, kind, rows from (
        select spool_no, kind, rows, sum(octet_length(lines)) over (order by spool_no) - octet_length(lines) as before
        from (select spool_no, kind, rows, lines from attention_spool order by spool_no limit ${entriesMax}) first) sized
      where before < ${bytesMax}
    ), numbered as (
      update attention_delivery set sealed = sealed + 1 where name = 'clickhouse' and exists (select from taken)
      returning sealed
    )
    insert into attention_batches (number, spool_nos, beacons, conversions)
    select sealed, (select array_agg(spool_no order by spool_no) from taken),
      (select coalesce(sum(rows), 0) from taken where kind = 'beacons'),
      (select coalesce(sum(rows), 0) from taken where kind = 'conversions')
    from numbered`.execute(tx)
}

export type Lease = { readonly attempt: number }

/** Takes the lease of the delivery; undefined while another process has it. */
export const claimDelivery = async (tx: Tx, leaseSeconds: number): Promise<Lease | undefined> => {
  const { rows } = await sql<{ attempt: string }>`
    update attention_delivery set attempt = attempt + 1, lease_until = pohf_now() + make_interval(secs => ${leaseSeconds})
    where name = (select name from attention_delivery
      where name = 'clickhouse' and lease_until < pohf_now() for update skip locked)
    returning attempt`.execute(tx)
  const [row] = rows
  return row && { attempt: Number(row.attempt) }
}

/** Ends the lease, unless another process has it by now. */
export const releaseDelivery = async (tx: Tx, { attempt }: Lease): Promise<void> => {
  await sql`update attention_delivery set lease_until = '-infinity' where name = 'clickhouse' and attempt = ${attempt}`.execute(
    tx,
  )
}

export type OpenBatch = { readonly number: number; readonly spoolNos: string[] }

/** The batch that is open, or the next one; undefined where nothing waits. */
export const openBatch = async (tx: Tx): Promise<OpenBatch | undefined> => {
  const find = async () => {
    const { rows } = await sql<{ number: string; spoolNos: string[] }>`
      select number, spool_nos as "spoolNos" from attention_batches where delivered_at is null`.execute(tx)
    return rows[0] && { number: Number(rows[0].number), spoolNos: rows[0].spoolNos }
  }
  const open = await find()
  if (open) return open
  await sealBatch(tx)
  return find()
}

/** The entries of a batch with the names of their pages. A name is given once and never changes. */
export const listSealedEntries = async (tx: Tx, spoolNos: readonly string[]): Promise<SealedEntry[]> => {
  const { rows } = await sql<SealedEntry>`
    select entry.agent_id as "agentId", entry.mode, entry.session_id as "sessionId", entry.viewed_at as "viewedAt",
      entry.kind, entry.with_view as "withView", entry.recorded_at as "recordedAt", entry.segment, entry.page, named.path as landing,
      entry.lines
    from unnest(${[...spoolNos]}::bigint[]) with ordinality wanted (spool_no, n)
    cross join lateral (
      select s.* from attention_spool s where s.spool_no = wanted.spool_no limit 1) entry
    left join lateral (
      select known.path from attention_pages known where known.agent_id = entry.agent_id
        and known.mode = entry.mode and known.day = pohf_day(entry.viewed_at) and known.page = entry.page
      limit 1) named on true
    order by wanted.n`.execute(tx)
  return rows
}

/** Records that ClickHouse has acknowledged the batch, and deletes its entries. Safe to run twice. */
export const settleBatch = async (tx: Tx, batch: OpenBatch): Promise<void> => {
  await sql`update attention_batches set delivered_at = pohf_now(), spool_nos = '{}'
    where number = ${batch.number} and delivered_at is null`.execute(tx)
  await sql`delete from attention_spool where spool_no = any(${batch.spoolNos}::bigint[])`.execute(tx)
}

/** How long the counts of delivered batches are kept for `inspect`. */
const batchDays = 30
const deleteMax = 5_000

export const deleteOldBatches = async (tx: Tx): Promise<void> => {
  await sql`delete from attention_batches where number in (
    select number from attention_batches where delivered_at < pohf_now() - make_interval(days => ${batchDays})
    order by delivered_at limit ${deleteMax})`.execute(tx)
}

export type BatchCounts = {
  readonly number: number
  readonly beacons: number
  readonly conversions: number
}

/** Delivered batches after a number, in their order. */
export const listDeliveredBatches = async (tx: Tx, after: number, limit: number): Promise<BatchCounts[]> => {
  const { rows } = await sql<BatchCounts>`
    select number::int8::float8 as number, beacons, conversions from attention_batches
    where number > ${after} and delivered_at is not null order by number limit ${limit}`.execute(tx)
  return rows
}

/** The number of the newest batch that is `back` batches old. */
export const findFirstBatch = async (tx: Tx, back: number): Promise<number> => {
  const { rows } = await sql<{ number: string }>`
    select greatest(sealed - ${back}, 0) as number from attention_delivery where name = 'clickhouse'`.execute(
    tx,
  )
  return Number(rows[0]?.number ?? 0)
}

export type Erasure = {
  readonly agentId: string
  readonly erasureId: string
  /** Null: everything of the agent. */
  readonly sessionId: string | null
}

/** Deletes what waits, and has the worker delete the rest when the batches that are sealed by now were delivered. */
export const insertErasure = async (
  tx: Tx,
  { agentId, sessionId }: Omit<Erasure, 'erasureId'>,
): Promise<string> => {
  await sql`
    delete from attention_spool entry where entry.agent_id = ${agentId}
      and (${sessionId}::text is null or entry.session_id = ${sessionId})
      and not exists (select from attention_batches batch where batch.delivered_at is null
        and entry.spool_no = any(batch.spool_nos))`.execute(tx)
  const { rows } = await sql<{ erasureId: string }>`
    insert into attention_erasures (agent_id, session_id, after_batch)
    select ${agentId}, ${sessionId}, sealed from attention_delivery where name = 'clickhouse'
    returning erasure_id as "erasureId"`.execute(tx)
  const [row] = rows
  if (!row) throw new Error(`no row of the delivery for the erasure of ${agentId}`)
  return row.erasureId
}

/** The oldest erasure that waits for no batch. */
export const findDueErasure = async (tx: Tx): Promise<Erasure | undefined> => {
  const { rows } = await sql<Erasure>`
    select agent_id as "agentId", erasure_id as "erasureId", session_id as "sessionId" from attention_erasures
    where done_at is null and not exists (
      select from attention_batches where delivered_at is null and number <= after_batch)
    order by requested_at limit 1`.execute(tx)
  return rows[0]
}

export const updateErasureDone = async (tx: Tx, { agentId, erasureId }: Erasure): Promise<void> => {
  await sql`update attention_erasures set done_at = pohf_now()
    where agent_id = ${agentId} and erasure_id = ${erasureId}`.execute(tx)
}
