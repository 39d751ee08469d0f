import { sql } from 'kysely'
import type { Tx } from '../../platform/db/db.ts'

/** The batches of these numbers that the database has. */
export const listBatches = async (
  tx: Tx,
  signer: string,
  batches: readonly number[],
): Promise<{ readonly batch: number; readonly discarded: readonly string[] }[]> =>
  (await listRecordedBatches(tx, signer, batches)).filter(({ givenUp }) => !givenUp)

/** Also those that a restore gave up because their signer did not answer. */
const listRecordedBatches = async (tx: Tx, signer: string, batches: readonly number[]) => {
  const rows = await tx
    .selectFrom('mint_batches')
    .select(['batch', 'discarded', 'given_up'])
    .where('signer', '=', signer)
    .where('batch', 'in', batches.map(BigInt))
    .execute()
  return rows.map(({ batch, discarded, given_up: givenUp }) => ({ batch: Number(batch), discarded, givenUp }))
}

/** The newest batch of a signer that the database has. */
export const findNewestBatch = async (
  tx: Tx,
  signer: string,
): Promise<{ readonly batch: number; readonly at: Date } | undefined> => {
  const row = await tx
    .selectFrom('mint_batches')
    .select(['batch', 'at'])
    .where('signer', '=', signer)
    .where('given_up', '=', false)
    .orderBy('batch', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row && { batch: Number(row.batch), at: row.at }
}

/** The newest batch of each signer that the database has. */
export const listNewestBatches = async (tx: Tx): Promise<(readonly [string, number])[]> => {
  const { rows } = await sql<{ signer: string; batch: bigint }>`
    with recursive newest as (
      (select signer, batch from mint_batches order by signer desc, batch desc limit 1)
      union all
      select earlier.signer, earlier.batch from newest cross join lateral (
        select signer, batch from mint_batches where signer < newest.signer order by signer desc, batch desc limit 1
      ) earlier
    )
    select signer, batch from newest`.execute(tx)
  return rows.map(({ signer, batch }) => [signer, Number(batch)])
}

/**
 * The start of the span whose data is lost, for a restore that is not recorded yet, and the time of the restore before it.
 */
export const findLostSpan = async (
  tx: Tx,
): Promise<{ readonly from: Date | undefined; readonly previousRestoreAt: Date }> => {
  let from: Date | undefined
  for (const [signer] of await listNewestBatches(tx)) {
    const newest = await findNewestBatch(tx, signer)
    if (newest && !(from && from > newest.at)) from = newest.at
  }
  const previous = await tx
    .selectFrom('restore_epochs')
    .select('restored_at')
    .orderBy('epoch', 'desc')
    .limit(1)
    .executeTakeFirst()
  return { from, previousRestoreAt: previous?.restored_at ?? new Date(0) }
}

/** Whether something of this time is void, because a restore was completed since. */
export const isBeforeRestore = async (tx: Tx, at: Date): Promise<boolean> => {
  const { rows } = await sql<{ found: boolean }>`
    select exists (select from restore_epochs where restored_at >= ${at}) as found`.execute(tx)
  return rows[0]?.found ?? false
}

/** Records batches as completed by a restore: whatever still wants to store one of them is refused. */
export const insertBatches = async (tx: Tx, signer: string, batches: readonly number[]): Promise<void> => {
  await sql`
    insert into mint_batches (signer, batch) select ${signer}, batch from unnest(${[...batches]}::bigint[]) batch
    on conflict (signer, batch) do update set given_up = false, at = excluded.at where mint_batches.given_up`.execute(
    tx,
  )
}

/**
 * Records batches of a signer that did not answer. When the signer answers again, its own journal makes them count as
 * missing.
 */
export const insertGivenUpBatches = async (
  tx: Tx,
  signer: string,
  batches: readonly number[],
): Promise<void> => {
  await sql`
    insert into mint_batches (signer, batch, given_up) select ${signer}, batch, true from unnest(${[...batches]}::bigint[]) batch
    on conflict do nothing`.execute(tx)
}

/** How many of the newest batches of each signer stay. */
const batchesKept = 10_000

/** Deletes old batches and records up to which number. A restore to a time before them finds that the newest are missing. */
export const deleteOldBatches = async (tx: Tx, kept = batchesKept): Promise<void> => {
  await sql`
    with edge as materialized (
      select known.signer, (select batch from mint_batches kept where kept.signer = known.signer
        order by batch desc offset ${kept} limit 1) as batch
      from unnest(${(await listNewestBatches(tx)).map(([signer]) => signer)}::text[]) known (signer)
    ), recorded as (
      insert into mint_batches_pruned (signer, batch) select signer, batch from edge where batch is not null
      on conflict (signer) do update set batch = greatest(mint_batches_pruned.batch, excluded.batch)
    )
    delete from mint_batches old using edge where old.signer = edge.signer and old.batch <= edge.batch`.execute(
    tx,
  )
}

/** The number up to which the batches of a signer were deleted. Every deleted batch was committed. */
const findPrunedTo = async (tx: Tx, signer: string): Promise<number> => {
  const row = await tx
    .selectFrom('mint_batches_pruned')
    .select('batch')
    .where('signer', '=', signer)
    .executeTakeFirst()
  return Number(row?.batch ?? 0)
}

type AcknowledgedBatches = {
  /** What the signer itself journaled. */
  readonly acknowledged: readonly number[]
  /** What other signers witnessed of it. */
  readonly witnessed: readonly number[]
}
/**
 * The batches that the database lacks. A batch that a restore gave up is missing only if the signer's own journal
 * acknowledges it.
 */
export const listMissingBatches = async (
  tx: Tx,
  signer: string,
  { acknowledged, witnessed }: AcknowledgedBatches,
): Promise<number[]> => {
  if (acknowledged.length + witnessed.length === 0) return []
  const prunedTo = await findPrunedTo(tx, signer)
  const recorded = await listRecordedBatches(tx, signer, [...acknowledged, ...witnessed])
  const known = new Map(recorded.map(({ batch, givenUp }) => [batch, givenUp]))
  const missing = [
    ...acknowledged.filter((batch) => known.get(batch) !== false),
    ...witnessed.filter((batch) => !known.has(batch)),
  ]
  return [...new Set(missing)].filter((batch) => batch > prunedTo)
}

export const insertValues = async (tx: Tx, keys: readonly string[]): Promise<void> => {
  await sql`
    insert into forgotten_values (value_key) select distinct key from unnest(${[...keys]}::text[]) key
    on conflict do nothing`.execute(tx)
}

/** Whether a restore found that this value was used. */
export const isForgottenValue = async (tx: Tx, key: string): Promise<boolean> => {
  const row = await tx
    .selectFrom('forgotten_values')
    .select('value_key')
    .where('value_key', '=', key)
    .executeTakeFirst()
  return row !== undefined
}

/** One restore at a time; the lock is held until the commit. */
export const lockRestore = async (tx: Tx): Promise<void> => {
  await sql`select pg_advisory_xact_lock(hashtextextended('restore', 0))`.execute(tx)
}

/** When a restore was completed last, in milliseconds; 0 where none was. */
export const findLastRestore = async (tx: Tx): Promise<number> => {
  const row = await tx
    .selectFrom('restore_epochs')
    .select('restored_at')
    .orderBy('epoch', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.restored_at.getTime() ?? 0
}

/** Records a completed restore; returns its number. */
export const insertEpoch = async (tx: Tx, report: object): Promise<number> => {
  const { rows } = await sql<{ epoch: number }>`
    insert into restore_epochs (epoch, report)
    select coalesce(max(epoch), 0) + 1, ${JSON.stringify(report)}::jsonb from restore_epochs
    returning epoch`.execute(tx)
  const row = rows[0]
  if (!row) throw new Error(`${rows.length} rows returned while recording a completed restore`)
  return row.epoch
}
