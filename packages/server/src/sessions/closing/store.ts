import { sql } from 'kysely'
import { telemetryLimits } from '@pohf/protocol/telemetry'
import { executePrepared, type Tx } from '../../platform/db/db.ts'
import {
  recordingHoursMax,
  type LockedRecording,
  type SessionOpening,
  type StoredChunk,
} from '../recording/store.ts'
import type { Client, EvidenceCounts, Session, SessionMeasurement, Telemetry } from '../rules.ts'
import { sessionColumns, sessionOf, type SelectedSession, type SessionRowKey } from '../store.ts'

/** A closed session with its encrypted records: the input of scoring. */
export type ClosedRecording = {
  readonly rowKey: SessionRowKey
  readonly session: Session
  readonly client: Client
  readonly faults: readonly string[]
  /** Null once the subject was erased. */
  readonly sealedKey: string | null
  /** In order; undefined where some were deleted. */
  readonly ciphertexts: readonly Buffer[] | undefined
}

const hourMs = 3_600_000

/** What every key has in common, so that PostgreSQL plans the partitions of this span and no others. */
const spanOf = (keys: readonly SessionRowKey[]) => {
  const times = keys.map(({ at }) => at.getTime())
  return { from: new Date(Math.min(...times)), to: new Date(Math.max(...times)) }
}

const listOf = (keys: readonly SessionRowKey[]) =>
  sql`${keys.map(({ agentId }) => agentId)}::text[], ${keys.map(({ mode }) => mode)}::text[],
    ${keys.map(({ sessionId }) => sessionId)}::text[], ${keys.map(({ at }) => at)}::timestamptz[]`

/** All chunks of these sessions, in order, by session id. */
export const listChunksOf = async (
  tx: Tx,
  keys: readonly SessionRowKey[],
): Promise<ReadonlyMap<string, StoredChunk[]>> => {
  const { from, to } = spanOf(keys)
  const query = sql<StoredChunk & { session_id: string }>`
    select session.session_id, chunk.seq, chunk.leaf, chunk.ciphertext
    from unnest(${listOf(keys)}) session (agent_id, mode, session_id, at),
    lateral (
      select c.seq, c.leaf, c.ciphertext from session_chunks c
      where c.agent_id = session.agent_id and c.session_id = session.session_id
        and c.at >= session.at and c.at < session.at + make_interval(hours => ${recordingHoursMax})
        and c.at >= ${from} and c.at < ${new Date(to.getTime() + recordingHoursMax * hourMs)}
      order by c.seq limit ${telemetryLimits.chunksPerSession}) chunk`
  const rows = await executePrepared(tx, 'session_chunks_list', query)
  return Map.groupBy(rows, ({ session_id }) => session_id)
}

export type SessionClosing = {
  readonly recording: LockedRecording
  readonly telemetry: Telemetry
  readonly leaves: Buffer
}
type ClosedRow = SelectedSession & { readonly opening: SessionOpening }
const returned = sql.join(sessionColumns.map((column) => sql.ref(`s.${column}`)))

/** Closes sessions and their recordings; returns the sessions by their ids. */
export const updateSessionsClosed = async (
  tx: Tx,
  closings: readonly SessionClosing[],
): Promise<ReadonlyMap<string, { readonly session: Session; readonly client: Client }>> => {
  const keys = closings.map(({ recording }) => recording)
  const { from, to } = spanOf(keys)
  // In the order of the key: the figures of two agents are locked in the same order by every batch.
  const query = sql<ClosedRow>`
    with closing as (
      select * from unnest(${listOf(keys)}, ${keys.map(({ now }) => now)}::timestamptz[],
        ${closings.map(({ leaves }) => leaves)}::bytea[],
        ${closings.map(({ telemetry }) => JSON.stringify(telemetry))}::jsonb[],
        ${keys.map(({ state }) => JSON.stringify(state.faults))}::jsonb[])
        given (agent_id, mode, session_id, at, ended_at, leaves, telemetry, faults)
      order by agent_id, session_id
    ), recorder as (
      update session_recorders r set status = 'closed'
      from (
        select closing.agent_id, closing.session_id from closing,
        lateral (
          select from session_recorders held
          where held.agent_id = closing.agent_id and held.session_id = closing.session_id limit 1) found) v
      where r.agent_id = v.agent_id and r.session_id = v.session_id
    )
    update sessions s set status = 'closed', ended_at = v.ended_at, leaves = v.leaves, telemetry = v.telemetry,
      faults = array(select jsonb_array_elements_text(v.faults))
    from (
      select closing.* from closing,
      lateral (
        select from sessions held
        where held.agent_id = closing.agent_id and held.session_id = closing.session_id and held.at = closing.at
          and held.at >= ${from} and held.at <= ${to} limit 1) found) v
    where s.agent_id = v.agent_id and s.session_id = v.session_id and s.at = v.at and s.mode = v.mode
      and s.at >= ${from} and s.at <= ${to} and s.status = 'open'
    returning ${returned}, s.opening`
  const rows = await executePrepared(tx, 'sessions_close', query)
  return new Map(rows.map((row) => [row.session_id, { session: sessionOf(row), client: row.opening.client }]))
}

type ClosedPage = {
  readonly limit: number
  readonly ageSeconds: number
  /** The last session of the page before. */
  readonly after?: Pick<SessionRowKey, 'at' | 'sessionId'> | undefined
}

/**
 * Closed sessions without a score, oldest first. Sessions that ended less than `ageSeconds` ago are left to the call that
 * ended them, which may still score them.
 */
export const listClosedSessions = async (
  tx: Tx,
  { limit, ageSeconds, after }: ClosedPage,
): Promise<SessionRowKey[]> => {
  const rows = await tx
    .selectFrom('sessions')
    .select(['agent_id', 'mode', 'session_id', 'at'])
    .where('status', '=', 'closed')
    // After the clock was set back, a session ended in the future.
    .where(
      sql<boolean>`ended_at not between pohf_now() - make_interval(secs => ${ageSeconds}) and pohf_now()`,
    )
    .$if(after !== undefined, (query) =>
      query.where(sql<boolean>`(at, session_id) > (${after?.at}::timestamptz, ${after?.sessionId}::text)`),
    )
    .orderBy('at')
    .orderBy('session_id')
    .limit(limit)
    .execute()
  return rows.map((row) => ({
    agentId: row.agent_id,
    mode: row.mode,
    sessionId: row.session_id,
    at: row.at,
  }))
}

/** Reads a closed session that its own call did not score. */
export const findClosedRecording = async (
  tx: Tx,
  rowKey: SessionRowKey,
): Promise<ClosedRecording | undefined> => {
  const { rows } = await sql<
    ClosedRow & { readonly faults: readonly string[]; readonly n: number; readonly sealed: string | null }
  >`
    select ${returned}, s.opening, s.faults, octet_length(s.leaves) / 32 as n, k.sealed from sessions s
    left join lateral (
      select sealed from session_keys where session_keys.agent_id = s.agent_id and session_keys.session_id = s.session_id
      limit 1) k on true
    where s.agent_id = ${rowKey.agentId} and s.mode = ${rowKey.mode} and s.session_id = ${rowKey.sessionId}
      and s.at = ${rowKey.at} and s.status = 'closed'`.execute(tx)
  const [row] = rows
  if (!row) return undefined
  const chunks = (await listChunksOf(tx, [rowKey])).get(rowKey.sessionId) ?? []
  return {
    rowKey,
    session: sessionOf(row),
    client: row.opening.client,
    faults: row.faults,
    sealedKey: row.sealed,
    ciphertexts: chunks.length === row.n ? chunks.map(({ ciphertext }) => ciphertext) : undefined,
  }
}

export type SessionScoreUpdate = Pick<
  SessionMeasurement,
  'quality' | 'verified' | 'assurance' | 'scoring' | 'components' | 'flags' | 'reasons' | 'evidence' | 'salt'
> & { readonly rowKey: SessionRowKey; readonly counted: EvidenceCounts | null }

const scoreText = (update: SessionScoreUpdate): string => {
  const { rowKey: _, salt, ...score } = update
  return JSON.stringify({ ...score, salt: salt.toString('hex') })
}

/** Stores the scores of closed sessions; returns those sessions that were still closed, as they are now. */
export const updateSessionsScored = async (
  tx: Tx,
  scores: readonly SessionScoreUpdate[],
): Promise<Session[]> => {
  if (scores.length === 0) return []
  const keys = scores.map(({ rowKey }) => rowKey)
  const { from, to } = spanOf(keys)
  // Locked in the order of the key: the worker may score some of the same sessions.
  const query = sql<SelectedSession>`
    update sessions s set status = 'scored', quality = (v.score ->> 'quality')::float8,
      verified = (v.score -> 'verified')::boolean, assurance = v.score ->> 'assurance', scoring = v.score ->> 'scoring',
      components = v.score -> 'components', flags = array(select jsonb_array_elements_text(v.score -> 'flags')),
      reasons = array(select jsonb_array_elements_text(v.score -> 'reasons')), evidence = v.score -> 'evidence',
      counted = nullif(v.score -> 'counted', 'null'), salt = decode(v.score ->> 'salt', 'hex')
    from (
      select given.* from (
        select * from unnest(${listOf(keys)}, ${scores.map(scoreText)}::jsonb[])
          listed (agent_id, mode, session_id, at, score)
        order by agent_id, session_id) given,
      lateral (
        select from sessions held
        where held.agent_id = given.agent_id and held.session_id = given.session_id and held.at = given.at
          and held.at >= ${from} and held.at <= ${to} and held.status = 'closed' limit 1 for update) found) v
    where s.agent_id = v.agent_id and s.session_id = v.session_id and s.at = v.at and s.mode = v.mode
      and s.at >= ${from} and s.at <= ${to} and s.status = 'closed'
    returning ${returned}`
  return (await executePrepared(tx, 'sessions_score', query)).map(sessionOf)
}
