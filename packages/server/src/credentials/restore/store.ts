import { sql } from 'kysely'
import { apiVersion, type Mode } from '@pohf/protocol'
import { permitBitmaps, type Tx } from '../../platform/db/db.ts'
import type { HeldState } from '../status/rules.ts'
import { assertOwnList } from '../status/store.ts'
import { heldGroundsOf } from '../store.ts'

export type ForgottenCredential = {
  readonly agentId: string
  readonly credentialId: string
  readonly signer: string
  readonly batch: number
  readonly actKey: string | null
  readonly hash: string
  readonly list: string
  readonly index: number
  readonly signedAt: Date
  readonly expiresAt: Date
  readonly charged: boolean
  readonly state: 'issued' | 'revoked'
}

/** Records credentials that the database has forgotten; those that are recorded already are left as they are. */
export const insertForgotten = async (
  tx: Tx,
  rows: readonly ForgottenCredential[],
): Promise<readonly string[]> => {
  const all = <T>(of: (row: ForgottenCredential) => T): T[] => rows.map(of)
  const inserted = await sql<{ credential_id: string }>`
    insert into forgotten_credentials (agent_id, credential_id, signer, batch, act_key, hash, status_list, status_idx,
      signed_at, expires_at, charged, state)
    select * from unnest(${all((row) => row.agentId)}::text[], ${all((row) => row.credentialId)}::text[],
      ${all((row) => row.signer)}::text[], ${all((row) => row.batch)}::bigint[], ${all((row) => row.actKey)}::text[],
      ${all((row) => row.hash)}::text[], ${all((row) => row.list)}::text[], ${all((row) => row.index)}::int[],
      ${all((row) => row.signedAt)}::timestamptz[], ${all((row) => row.expiresAt)}::timestamptz[],
      ${all((row) => row.charged)}::boolean[], ${all((row) => row.state)}::text[])
    on conflict do nothing
    returning credential_id`.execute(tx)
  return inserted.rows.map((row) => row.credential_id)
}

/** Whether a credential of this act is forgotten and valid. */
export const hasForgottenAct = async (tx: Tx, agentId: string, actKey: string): Promise<boolean> => {
  const { rows } = await sql<{ found: boolean }>`
    select exists (select from forgotten_credentials where agent_id = ${agentId} and act_key = ${actKey}
      and expires_at > pohf_now()) as found`.execute(tx)
  return rows[0]?.found ?? false
}

/** A forgotten credential by its id, locked, so that changes of its state are serial. */
export const findForgottenLocked = async (tx: Tx, credentialId: string) => {
  const row = await tx
    .selectFrom('forgotten_credentials')
    .select(['agent_id', 'status_list', 'status_idx', 'state', 'grounds'])
    .where('credential_id', '=', credentialId)
    .forUpdate()
    .executeTakeFirst()
  return (
    row && {
      agentId: row.agent_id,
      list: row.status_list,
      index: row.status_idx,
      state: row.state,
      grounds: heldGroundsOf(row),
    }
  )
}

export const updateForgottenState = async (
  tx: Tx,
  credentialId: string,
  { state, grounds }: HeldState,
): Promise<void> => {
  await tx
    .updateTable('forgotten_credentials')
    .set({ state, grounds: [...grounds] })
    .where('credential_id', '=', credentialId)
    .execute()
}

/** Takes over the states that the status lists have for these credentials. */
export const updateForgottenStates = async (tx: Tx, ids: readonly string[]): Promise<void> => {
  await sql`
    update forgotten_credentials lost set state = case entry.value when 1 then 'revoked' else 'suspended' end
    from status_entries entry
    where lost.credential_id = any(${[...ids]}::text[]) and lost.state = 'issued'
      and entry.list_id = lost.status_list and entry.idx = lost.status_idx`.execute(tx)
}

/** The forgotten credentials at these indexes of a list. */
export const listForgottenAt = async (
  tx: Tx,
  list: string,
  indexes: readonly number[],
): Promise<{ readonly credentialId: string; readonly index: number }[]> => {
  if (indexes.length === 0) return []
  const rows = await tx
    .selectFrom('forgotten_credentials')
    .select(['credential_id', 'status_idx'])
    .where('status_list', '=', list)
    .where('status_idx', 'in', [...indexes])
    .execute()
  return rows.map((row) => ({ credentialId: row.credential_id, index: row.status_idx }))
}

/** Which of these credentials the database has, stored or recorded as forgotten. */
export const listKnownIds = async (tx: Tx, ids: readonly string[]): Promise<ReadonlySet<string>> => {
  const { rows } = await sql<{ id: string }>`
    select id from unnest(${[...ids]}::text[]) id
    where exists (select from credentials c where c.credential_id = id)
      or exists (select from forgotten_credentials f where f.credential_id = id)`.execute(tx)
  return new Set(rows.map((row) => row.id))
}

/** How many live credentials were recorded as forgotten after this time, by the clock hour in which they were signed. */
export const countLostByHour = async (
  tx: Tx,
  recordedAfter: Date,
): Promise<{ readonly hour: number; readonly credentials: number }[]> => {
  await sql`select set_config('enable_seqscan', 'on', true)`.execute(tx)
  const { rows } = await sql<{ hour: number; credentials: number }>`
    select roots_hour(signed_at) as hour, count(*)::int as credentials from forgotten_credentials
    where recorded_at > ${recordedAfter} and status_list like '%-live-%' group by 1`.execute(tx)
  return rows
}

type Charge = {
  readonly agentId: string
  readonly mode: Mode
  readonly credentialId: string
  readonly entryId: string
  readonly noticeId: string
}
/** Charges credentials as far as the balance of their agents goes; returns the ids of those that were charged. */
export const chargeForgotten = async (tx: Tx, charges: readonly Charge[]): Promise<readonly string[]> => {
  if (charges.length === 0) return []
  const all = <T>(of: (charge: Charge) => T): T[] => charges.map(of)
  const { rows } = await sql<{ paid: string[] }>`
    select credentials_charge_forgotten(${all((one) => one.agentId)}, ${all((one) => one.mode)},
      ${all((one) => one.credentialId)}, ${all((one) => one.entryId)}, ${all((one) => one.noticeId)}, ${apiVersion}) as paid`.execute(
    tx,
  )
  return rows[0]?.paid ?? []
}

type ListRow = {
  readonly listId: string
  readonly mode: Mode
  readonly number: number
  readonly entries: number
}
/** Inserts a list that the database has forgotten, closed. */
export const insertClosedList = async (tx: Tx, list: ListRow): Promise<void> => {
  assertOwnList(tx, list.listId, 'adding it')
  await sql`
    insert into status_lists (list_id, mode, number, entries, block_size)
    values (${list.listId}, ${list.mode}, ${list.number}, ${list.entries}, ${list.entries})
    on conflict do nothing`.execute(tx)
  await sql`
    insert into status_blocks (list_id, block, taken_at)
    select ${list.listId}, 0, pohf_now() where not exists (select from status_blocks where list_id = ${list.listId})`.execute(
    tx,
  )
}

/**
 * Closes every status list, so that no index of it is assigned any more. Returns how many blocks were free. The next list of
 * a mode gets a random higher number: lists of the lost span may exist unknown to the database, and a second restore of the
 * same backup must not choose the same number.
 */
export const closeLists = async (tx: Tx): Promise<number> => {
  const { numAffectedRows } = await sql`
    update status_blocks set taken_at = pohf_now() where taken_at is null`.execute(tx)
  const { rows } = await sql<ListRow>`
    select distinct on (mode) mode, entries, number + 1000 + floor(random() * 1000000)::int as number,
      list_id as "listId"
    from status_lists order by mode, number desc`.execute(tx)
  for (const { listId, ...list } of rows)
    await insertClosedList(tx, { ...list, listId: listId.replace(/[0-9]+$/, String(list.number)) })
  return Number(numAffectedRows ?? 0)
}

/** Locks a list; returns its version, or undefined where there is none. */
export const findListLocked = async (tx: Tx, listId: string): Promise<number | undefined> => {
  const row = await tx
    .selectFrom('status_lists')
    .select('version')
    .where('list_id', '=', listId)
    .forUpdate()
    .executeTakeFirst()
  return row && Number(row.version)
}

export const listEntries = async (tx: Tx, listId: string): Promise<ReadonlyMap<number, number>> => {
  const rows = await tx
    .selectFrom('status_entries')
    .select(['idx', 'value'])
    .where('list_id', '=', listId)
    .execute()
  return new Map(rows.map(({ idx, value }) => [idx, value]))
}

/** Raises the version of a list above one that was published. */
export const raiseVersion = async (tx: Tx, listId: string, published: number): Promise<void> => {
  await sql`
    update status_lists set version = greatest(version, ${published}) + 1 where list_id = ${listId}`.execute(
    tx,
  )
}

/** The stored credentials at these indexes. It reads all credentials: no other statement looks for them by index. */
export const listCredentialsAt = async (
  tx: Tx,
  listId: string,
  indexes: readonly number[],
): Promise<{ readonly credentialId: string; readonly index: number }[]> => {
  if (indexes.length === 0) return []
  await sql`select set_config('enable_seqscan', 'on', true)`.execute(tx)
  const { rows } = await sql<{ credentialId: string; index: number }>`
    select credential_id as "credentialId", status_idx as index from credentials
    where status_list = ${listId} and status_idx = any(${[...indexes]}::int[])`.execute(tx)
  return rows
}

/** The signed lists that are stored, the newest first. */
export const listStoredLists = async (tx: Tx, limit: number): Promise<{ listId: string; jwt: string }[]> => {
  await permitBitmaps(tx)
  const { rows } = await sql<{ listId: string; jwt: string }>`
    select list_id as "listId", jwt from status_lists where jwt is not null order by built_at desc limit ${limit}`.execute(
    tx,
  )
  return rows
}
