import { sql } from 'kysely'
import type { Mode } from '@pohf/protocol'
import { now, type Tx } from '../../platform/db/db.ts'
import { cellOfList, listName, type ListLayout } from './rules.ts'

export const isOwnList = (tx: Tx, listId: string): boolean => cellOfList(listId) === tx.ids.cell

/** Callers refuse the list of another cell before; this stops what does not. */
export const assertOwnList = (tx: Tx, listId: string, operation: string): void => {
  if (isOwnList(tx, listId)) return
  throw new Error(
    `status list ${listId} is of cell ${cellOfList(listId)}, found in cell ${tx.ids.cell} while ${operation}`,
  )
}

/** One process at a time opens lists and claims blocks of a mode; the lock is held until the commit. */
export const lockLists = async (tx: Tx, mode: Mode): Promise<void> => {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`status_lists ${mode}`}, 0))`.execute(tx)
}

export type Block = { readonly listId: string; readonly first: number; readonly size: number }

/** Claims a random free block of the first published list that has one; undefined when none has. */
export const updateBlockClaimed = async (tx: Tx, mode: Mode): Promise<Block | undefined> => {
  const { rows } = await sql<{ list_id: string; block: number; block_size: number }>`
    update status_blocks claimed set taken_at = pohf_now()
    from (
      select b.list_id, b.block, l.block_size from status_lists l join status_blocks b on b.list_id = l.list_id
      where l.mode = ${mode} and l.jwt is not null and b.taken_at is null
      order by l.number, random() limit 1) free
    where claimed.list_id = free.list_id and claimed.block = free.block
    returning claimed.list_id, claimed.block, free.block_size`.execute(tx)
  const row = rows[0]
  if (row) assertOwnList(tx, row.list_id, 'claiming a block of it')
  return row && { listId: row.list_id, first: row.block * row.block_size, size: row.block_size }
}

/** Whether a list was ever published: then credentials of this deployment are out. */
export const hasPublishedList = async (tx: Tx): Promise<boolean> => {
  const row = await tx
    .selectFrom('status_lists')
    .select('list_id')
    .where('jwt', 'is not', null)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** A list that is not published yet. */
export const findUnpublishedList = async (tx: Tx, mode: Mode): Promise<string | undefined> => {
  const row = await tx
    .selectFrom('status_lists')
    .select('list_id')
    .where('mode', '=', mode)
    .where('jwt', 'is', null)
    .orderBy('number')
    .limit(1)
    .executeTakeFirst()
  return row?.list_id
}

/** Inserts the next list of a mode with all its blocks free. */
export const insertList = async (tx: Tx, cell: string, mode: Mode, shape: ListLayout): Promise<string> => {
  const last = await tx
    .selectFrom('status_lists')
    .select('number')
    .where('mode', '=', mode)
    .orderBy('number', 'desc')
    .limit(1)
    .executeTakeFirst()
  const number = (last?.number ?? 0) + 1
  const listId = listName(cell, mode, number)
  await tx
    .insertInto('status_lists')
    .values({ list_id: listId, mode, number, entries: shape.entries, block_size: shape.blockSize })
    .execute()
  await sql`
    insert into status_blocks (list_id, block)
    select ${listId}, block from generate_series(0, ${shape.entries / shape.blockSize - 1}::int) block`.execute(
    tx,
  )
  return listId
}

export type Snapshot = {
  readonly mode: Mode
  readonly entries: number
  readonly version: bigint
  readonly words: Buffer
  readonly now: Date
}

/**
 * A consistent snapshot. One statement, so that version and entries agree; entries are packed to four bytes each,
 * because a million rows would take seconds to read.
 */
export const findSnapshot = async (tx: Tx, listId: string): Promise<Snapshot | undefined> => {
  const { rows } = await sql<Snapshot>`
    select mode, entries, version, pohf_now() as now,
      coalesce((select string_agg(int4send(idx * 4 + value), ''::bytea) from status_entries e where e.list_id = l.list_id), ''::bytea) as words
    from status_lists l where list_id = ${listId}`.execute(tx)
  return rows[0]
}

export const findListVersion = async (tx: Tx, listId: string): Promise<bigint | undefined> => {
  const row = await tx
    .selectFrom('status_lists')
    .select('version')
    .where('list_id', '=', listId)
    .executeTakeFirst()
  return row?.version
}

export type BuiltList = {
  readonly listId: string
  readonly version: bigint
  readonly at: Date
  readonly kid: string
  readonly etag: string
  readonly jwt: string
}

/** Publishes a built list unless a newer version is published; returns whether it did. */
export const updateListBuilt = async (tx: Tx, built: BuiltList): Promise<boolean> => {
  assertOwnList(tx, built.listId, 'publishing it')
  const result = await tx
    .updateTable('status_lists')
    .set({
      built_version: built.version,
      built_at: built.at,
      kid: built.kid,
      etag: built.etag,
      jwt: built.jwt,
      lease_until: null,
    })
    .where('list_id', '=', built.listId)
    .where((is) => is.or([is('built_version', 'is', null), is('built_version', '<=', built.version)]))
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}

type BuildCriteria = {
  /** The published signing keys: a list signed by any other key cannot be verified. */
  readonly kids: readonly string[]
  readonly gapSeconds: number
  readonly refreshSeconds: number
  readonly leaseSeconds: number
  readonly limit: number
}

/** Claims lists that must be built: changed, old, signed by a removed key, or never built. */
export const updateListsClaimed = async (tx: Tx, due: BuildCriteria): Promise<string[]> => {
  const { rows } = await sql<{ list_id: string }>`
    update status_lists set lease_until = pohf_now() + make_interval(secs => ${due.leaseSeconds})
    where list_id in (
      select list_id from status_lists
      where (lease_until is null or lease_until <= pohf_now())
        and (jwt is null
          or (version > built_version and built_at <= pohf_now() - make_interval(secs => ${due.gapSeconds}))
          or built_at <= pohf_now() - make_interval(secs => ${due.refreshSeconds})
          or kid <> all(${due.kids}::text[]))
      order by built_at nulls first limit ${due.limit} for update skip locked)
    returning list_id`.execute(tx)
  return rows.map((row) => row.list_id)
}

export type PublishedList = { readonly jwt: string; readonly etag: string }

export const findPublishedList = async (tx: Tx, listId: string): Promise<PublishedList | undefined> => {
  const row = await tx
    .selectFrom('status_lists')
    .select(['jwt', 'etag'])
    .where('list_id', '=', listId)
    .executeTakeFirst()
  return row && row.jwt !== null && row.etag !== null ? { jwt: row.jwt, etag: row.etag } : undefined
}

export type StatusEntry = { readonly listId: string; readonly idx: number; readonly value: 0 | 1 | 2 }

/** Sets an entry and marks the list as changed. */
export const updateEntry = async (tx: Tx, entry: StatusEntry): Promise<void> => {
  assertOwnList(tx, entry.listId, `setting its entry ${entry.idx}`)
  if (entry.value === 0)
    await tx
      .deleteFrom('status_entries')
      .where('list_id', '=', entry.listId)
      .where('idx', '=', entry.idx)
      .execute()
  else
    await tx
      .insertInto('status_entries')
      .values({ list_id: entry.listId, idx: entry.idx, value: entry.value })
      .onConflict((on) => on.columns(['list_id', 'idx']).doUpdateSet({ value: entry.value }))
      .execute()
  await sql`update status_lists set version = version + 1 where list_id = ${entry.listId}`.execute(tx)
}

export type ElsewhereEntry = StatusEntry & { readonly credentialId: string; readonly expiresAt: Date }

/** Records a change that the list of another cell does not show yet. */
export const insertElsewhere = async (tx: Tx, entry: ElsewhereEntry): Promise<void> => {
  await tx
    .insertInto('status_elsewhere')
    .values({
      list_id: entry.listId,
      idx: entry.idx,
      value: entry.value,
      credential_id: entry.credentialId,
      expires_at: entry.expiresAt,
    })
    .onConflict((on) => on.columns(['list_id', 'idx']).doUpdateSet({ value: entry.value, changed_at: now() }))
    .execute()
}

/** Changes that lists of other cells have to show, the oldest first. */
export const listElsewhere = async (
  tx: Tx,
  limit: number,
): Promise<
  { readonly listId: string; readonly idx: number; readonly value: number; readonly credentialId: string }[]
> => {
  const rows = await tx
    .selectFrom('status_elsewhere')
    .select(['list_id', 'idx', 'value', 'credential_id'])
    .orderBy('changed_at')
    .limit(limit)
    .execute()
  return rows.map((row) => ({
    listId: row.list_id,
    idx: row.idx,
    value: row.value,
    credentialId: row.credential_id,
  }))
}

/** Deletes a change that its list shows, unless it was changed meanwhile. */
export const deleteElsewhere = async (
  tx: Tx,
  { listId, idx, value }: Pick<StatusEntry, 'listId' | 'idx'> & { readonly value: number },
): Promise<boolean> => {
  const result = await tx
    .deleteFrom('status_elsewhere')
    .where('list_id', '=', listId)
    .where('idx', '=', idx)
    .where('value', '=', value)
    .executeTakeFirst()
  return result.numDeletedRows === 1n
}

/** Deletes changes of credentials that have expired: nobody accepts them any more. */
export const deleteExpiredElsewhere = async (tx: Tx): Promise<void> => {
  await tx.deleteFrom('status_elsewhere').where('expires_at', '<=', now()).execute()
}

/** Seconds since the oldest change that no published list shows, of this cell or another; 0 where there is none. Both tables are small. */
export const findPendingSeconds = async (tx: Tx): Promise<number> => {
  const { rows } = await sql<{ seconds: number | null }>`
    select extract(epoch from pohf_now() - least(
      (select min(changed_at) from status_lists where changed_at is not null),
      (select min(changed_at) from status_elsewhere)))::float8 as seconds`.execute(tx)
  return rows[0]?.seconds ?? 0
}
