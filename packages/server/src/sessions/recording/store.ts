import type { SealedColumn } from '../../platform/db/sealed.ts'
import { sql, type Selectable } from 'kysely'
import type { Mode } from '@pohf/protocol'
import { executePrepared, type Tx } from '../../platform/db/db.ts'
import type { DB } from '../../platform/db/schema.ts'
import type { PublicJwk } from './chain.ts'
import type { Recording, RecordingState } from './state.ts'
import type { Client, Session, Telemetry } from '../rules.ts'
import { unpackLeaves } from './tree.ts'
import { type SessionKey, type SessionRowKey, findSession } from '../store.ts'

/** What an auditor needs besides the chunks, and what the page's headers said. */
export type SessionOpening = {
  readonly nonce: string
  readonly x: string
  readonly y: string
  readonly client: Client
  /** The site that the page named, where it is not the agent that owns the session. */
  readonly site?: string
}

type NewRecording = {
  readonly recording: Recording
  readonly workflowId: string | null
  readonly challenge: string | null
  readonly hostname: string | null
  readonly jkt: string
  readonly opening: SessionOpening
  readonly sealedKey: string
}

/** Stores an open session with its claim, key and recorder in one statement. */
export const insertRecording = async (tx: Tx, made: NewRecording): Promise<void> => {
  const { recording } = made
  const { agentId, sessionId, mode, kind, at } = recording
  await sql`
    with claim as (
      insert into session_claims (agent_id, mode, session_id, at) values (${agentId}, ${mode}, ${sessionId}, ${at})
    ), session as (
      insert into sessions (agent_id, session_id, at, mode, kind, status, workflow_id, challenge, hostname,
        jkt, opening)
      values (${agentId}, ${sessionId}, ${at}, ${mode}, ${kind}, 'open', ${made.workflowId}, ${made.challenge},
        ${made.hostname}, ${made.jkt}, ${JSON.stringify(made.opening)})
    ), key as (
      insert into session_keys (agent_id, session_id, sealed) values (${agentId}, ${sessionId}, ${made.sealedKey})
    )
    insert into session_recorders (agent_id, session_id, mode, kind, at, expires_at, public_key, state)
    values (${agentId}, ${sessionId}, ${mode}, ${kind}, ${at}, ${recording.expiresAt}, ${recording.publicKey},
      ${JSON.stringify(recording.state)})`.execute(tx)
}

export type LockedRecording = Recording & { readonly sealedKey: string; readonly now: Date }

type RecorderRow = Omit<Selectable<DB['session_recorders']>, 'state'> & {
  state: RecordingState
  sealed: string
  now: Date
}
/** Finds recordings by session id alone and locks them in a fixed order, so that two batches cannot deadlock. */
export const lockRecordings = async (tx: Tx, sessionIds: readonly string[]): Promise<LockedRecording[]> => {
  const query = sql<RecorderRow>`
    select r.agent_id, r.session_id, r.mode, r.kind, r.at, r.expires_at, r.status, r.public_key, r.state, k.sealed,
      pohf_now() as now
    from (select distinct id from unnest(${[...sessionIds]}::text[]) id order by id) given,
    lateral (select * from session_recorders where session_recorders.session_id = given.id limit 1 for update) r,
    lateral (
      select sealed from session_keys where session_keys.agent_id = r.agent_id and session_keys.session_id = r.session_id
      limit 1) k`
  return (await executePrepared(tx, 'session_recorders_lock', query)).map((row) => ({
    agentId: row.agent_id,
    sessionId: row.session_id,
    mode: row.mode,
    kind: row.kind,
    at: row.at,
    expiresAt: row.expires_at,
    status: row.status,
    publicKey: row.public_key,
    state: row.state,
    sealedKey: row.sealed,
    now: row.now,
  }))
}

type NewChunk = {
  readonly agentId: string
  readonly sessionId: string
  readonly seq: number
  readonly at: Date
  readonly leaf: Buffer
  readonly ciphertext: Buffer
}

/** Writes new states and chunks of any number of sessions in one statement. */
export const updateRecordings = async (
  tx: Tx,
  changed: readonly Recording[],
  chunks: readonly NewChunk[],
): Promise<void> => {
  if (changed.length === 0) return
  const query = sql`
    with moved as (
      update session_recorders r set state = v.state::jsonb
      from (
        select given.* from unnest(${changed.map((one) => one.agentId)}::text[],
          ${changed.map((one) => one.sessionId)}::text[], ${changed.map((one) => JSON.stringify(one.state))}::text[])
          given(agent_id, session_id, state),
        lateral (
          select from session_recorders held
          where held.agent_id = given.agent_id and held.session_id = given.session_id limit 1) found) v
      where r.agent_id = v.agent_id and r.session_id = v.session_id
    )
    insert into session_chunks (agent_id, session_id, seq, at, leaf, ciphertext)
    select * from unnest(${chunks.map((one) => one.agentId)}::text[], ${chunks.map((one) => one.sessionId)}::text[],
      ${chunks.map((one) => one.seq)}::int[], ${chunks.map((one) => one.at)}::timestamptz[],
      ${chunks.map((one) => one.leaf)}::bytea[], ${chunks.map((one) => one.ciphertext)}::bytea[])`
  await executePrepared(tx, 'session_recorders_update', query)
}

export type StoredChunk = { readonly seq: number; readonly leaf: Buffer; readonly ciphertext: Buffer }

/** Longer than any session runs: PostgreSQL then scans one or two daily partitions instead of all. */
export const recordingHoursMax = 2

const withinSessionTime = (rowKey: SessionRowKey) =>
  sql<boolean>`agent_id = ${rowKey.agentId} and session_id = ${rowKey.sessionId}
    and at >= ${rowKey.at} and at < ${new Date(rowKey.at.getTime() + recordingHoursMax * 3_600_000)}`

/** Encrypted records in order; fewer, or none, after their retention. */
export const listChunks = async (
  tx: Tx,
  rowKey: SessionRowKey,
  page: { readonly from: number; readonly limit: number },
): Promise<StoredChunk[]> =>
  tx
    .selectFrom('session_chunks')
    .select(['seq', 'leaf', 'ciphertext'])
    .where(withinSessionTime(rowKey))
    .where('seq', '>=', page.from)
    .orderBy('seq')
    .limit(page.limit)
    .execute()

const expireBatchMax = 500

/** Expires unfinished recordings, a batch at a time; returns how many. Safe to run on every node. */
export const expireRecordings = async (tx: Tx): Promise<number> => {
  const { numAffectedRows } = await sql`
    with due as (
      select agent_id, session_id, at from session_recorders
      where status = 'open' and expires_at <= pohf_now() order by expires_at limit ${expireBatchMax}
      for update skip locked
    ), recorder as (
      update session_recorders r set status = 'expired' from due
      where r.agent_id = due.agent_id and r.session_id = due.session_id
    )
    update sessions s set status = 'expired' from due
    where s.agent_id = due.agent_id and s.session_id = due.session_id and s.at = due.at and s.status = 'open'`.execute(
    tx,
  )
  return Number(numAffectedRows ?? 0)
}

/** Deletes recorders a day after they expired: until then a late or repeated call gets its real answer. */
export const deleteOldRecorders = async (tx: Tx): Promise<number> => {
  const { numAffectedRows } = await sql`
    delete from session_recorders where ctid = any(array(
      select ctid from session_recorders
      where status <> 'open' and expires_at < pohf_now() - interval '1 day'
      order by expires_at limit ${expireBatchMax}))`.execute(tx)
  return Number(numAffectedRows ?? 0)
}

const dayMs = 86_400_000
const browserDays = 30
/**
 * How many sessions of a browser are read: its latest ones of earlier days, and those of today. At most this many checks of
 * a day are shorter.
 */
const browserSessionsMax = 20

type Browser = { readonly agentId: string; readonly mode: Mode; readonly hash: Buffer }
type BrowserHistory = {
  /** On an earlier UTC day of the last 30 days a session of this browser got a credential. */
  readonly passed: boolean
  /** It returned today already, and is counted for its network. */
  readonly counted: boolean
  /** It opened so many sessions today that a further one is not shorter. */
  readonly exhausted: boolean
}

/** Locks the browser until the commit: of sessions that are opened at once with one key, each then finds those before it. */
export const lockBrowser = async (tx: Tx, { hash }: Browser): Promise<void> => {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`browser_sessions ${hash.toString('hex')}`}, 0))`.execute(
    tx,
  )
}

export const findBrowserHistory = async (
  tx: Tx,
  { agentId, mode, hash }: Browser,
  now: Date,
): Promise<BrowserHistory> => {
  const today = new Date(Math.floor(now.getTime() / dayMs) * dayMs)
  const since = new Date(now.getTime() - browserDays * dayMs)
  const ofBrowser = sql`agent_id = ${agentId} and mode = ${mode} and key_hash = ${hash}`
  const { rows } = await sql<BrowserHistory>`
    select exists (
        select from (
          select session_id, at from browser_sessions where ${ofBrowser} and at >= ${since} and at < ${today}
          order by at desc limit ${browserSessionsMax}) earlier
        cross join lateral (
          select from sessions s where s.agent_id = ${agentId} and s.mode = ${mode} and s.session_id = earlier.session_id
            and s.at = earlier.at and s.status = 'sealed'
          limit 1) sealed) as passed,
      coalesce(bool_or(later.returned), false) as counted, count(*) >= ${browserSessionsMax} as exhausted
    from (
      select returned from browser_sessions where ${ofBrowser} and at >= ${today}
      order by at limit ${browserSessionsMax}) later`.execute(tx)
  const [history] = rows
  if (!history) throw new Error(`no row for the history of a browser of agent ${agentId}`)
  return history
}

export const insertBrowserSession = async (
  tx: Tx,
  session: Browser & { readonly sessionId: string; readonly at: Date; readonly returning: boolean },
): Promise<void> => {
  const { agentId, mode, hash, at, sessionId, returning } = session
  await tx
    .insertInto('browser_sessions')
    .values({ agent_id: agentId, mode, key_hash: hash, at, session_id: sessionId, returned: returning })
    .execute()
}

/** Deletes what is older than 30 days, a batch at a time; returns how many. Safe to run on every node. */
export const deleteOldBrowserSessions = async (tx: Tx): Promise<number> => {
  const { numAffectedRows } = await sql`
    delete from browser_sessions where ctid = any(array(
      select ctid from browser_sessions where at < pohf_now() - make_interval(days => ${browserDays})
      order by at limit ${expireBatchMax}))`.execute(tx)
  return Number(numAffectedRows ?? 0)
}

/** Drops daily partitions past their retention. */
export const dropOldChunks = async (tx: Tx, keepDays: number): Promise<void> => {
  await sql`select pohf_drop_days('session_chunks', ${keepDays})`.execute(tx)
}

type RecordedSession = {
  readonly session: Session
  readonly telemetry: Telemetry
  readonly nonce: string
  readonly key: PublicJwk
  readonly site: string
  readonly client: Client
  readonly leaves: readonly Buffer[]
  readonly faults: readonly string[]
  /** Null once the subject was erased. */
  readonly sealedKey: string | null
}

/** A finished recorded session, with the keys to its records. */
export const findRecordedSession = async (tx: Tx, key: SessionKey): Promise<RecordedSession | undefined> => {
  const session = await findSession(tx, key)
  if (!session || session.jkt === null || session.telemetry === null) return undefined
  const { rows } = await sql<{
    opening: SessionOpening
    leaves: Buffer
    faults: string[]
    sealed: string | null
  }>`
    select s.opening, s.leaves, s.faults, k.sealed from sessions s
    left join session_keys k on k.agent_id = s.agent_id and k.session_id = s.session_id
    where s.agent_id = ${key.agentId} and s.mode = ${key.mode} and s.session_id = ${key.sessionId}
      and s.at = ${session.at}`.execute(tx)
  const [row] = rows
  if (!row) return undefined
  const { nonce, x, y, client, site = key.agentId } = row.opening
  return {
    session,
    telemetry: session.telemetry,
    nonce,
    key: { kty: 'EC', crv: 'P-256', x, y },
    site,
    client,
    leaves: unpackLeaves(row.leaves),
    faults: row.faults,
    sealedKey: row.sealed,
  }
}

/** Erasure: without the key the records cannot be decrypted, while their hashes stay valid. */
export const deleteSubjectKey = async (tx: Tx, key: SessionKey): Promise<boolean> => {
  const result = await tx
    .deleteFrom('session_keys')
    .where('agent_id', '=', key.agentId)
    .where('session_id', '=', key.sessionId)
    .executeTakeFirst()
  return result.numDeletedRows === 1n
}

/**
 * After a restore: expires sessions that may have been used in the lost span. Open and closed sessions may have ended in it,
 * and the recording of a task may belong to a completion in it. With `all`, scored sessions expire too, because they may
 * have been minted in it. It reads all sessions, once for each restore.
 */
export const voidSessions = async (tx: Tx, { all }: { readonly all: boolean }): Promise<number> => {
  await sql`select set_config('enable_seqscan', 'on', true)`.execute(tx)
  await sql`update session_recorders set status = 'expired' where status = 'open'`.execute(tx)
  const { numAffectedRows } = await sql`
    update sessions set status = 'expired'
    where status in ('open', 'closed')
      or (status = 'scored' and (${all}::boolean or (kind = 'task' and jkt is not null)))`.execute(tx)
  return Number(numAffectedRows ?? 0)
}

export const sealedColumns: readonly SealedColumn[] = [
  {
    purpose: 'session-key',
    table: 'session_keys',
    column: 'sealed',
    key: [
      ['agent_id', 'text'],
      ['session_id', 'text'],
    ],
  },
]
