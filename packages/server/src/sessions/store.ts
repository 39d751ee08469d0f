import { sql } from 'kysely'
import type { Mode } from '@pohf/protocol'
import { telemetryLimits } from '@pohf/protocol/telemetry'
import { executePrepared, readNow, type Tx } from '../platform/db/db.ts'
import type { PublicJwk } from './recording/chain.ts'
import type { Recording, RecordingState } from './recording/state.ts'
import type {
  Client,
  EvidenceCounts,
  SessionMeasurement,
  RecordedKind,
  Session,
  SessionKind,
  SessionStatus,
  Telemetry,
} from './rules.ts'
import { unpackLeaves } from './recording/tree.ts'

export type SessionKey = { readonly agentId: string; readonly mode: Mode; readonly sessionId: string }

const columns = [
  'session_id',
  'at',
  'kind',
  'status',
  'simulated',
  'member_ref',
  'workflow_id',
  'challenge',
  'source',
  'ended_at',
  'quality',
  'verified',
  'assurance',
  'scoring',
  'components',
  'flags',
  'reasons',
  'telemetry',
  'evidence',
  'credential_id',
  'counted',
  'jkt',
] as const

type Row = {
  session_id: string
  at: Date
  kind: string
  status: string
  simulated: boolean
  member_ref: string | null
  workflow_id: string | null
  challenge: string | null
  source: string | null
  ended_at: Date | null
  quality: number | null
  verified: boolean | null
  assurance: string | null
  scoring: string | null
  components: unknown
  flags: string[]
  reasons: string[]
  telemetry: unknown
  evidence: unknown
  credential_id: string | null
  counted: unknown
  jkt: string | null
}

const sessionOf = (row: Row): Session => ({
  sessionId: row.session_id,
  at: row.at,
  kind: row.kind as SessionKind,
  status: row.status as SessionStatus,
  simulated: row.simulated,
  memberRef: row.member_ref,
  workflowId: row.workflow_id,
  challenge: row.challenge,
  source: row.source,
  endedAt: row.ended_at,
  quality: row.quality,
  verified: row.verified,
  assurance: row.assurance as Session['assurance'],
  scoring: row.scoring,
  components: row.components as Session['components'],
  flags: row.flags,
  reasons: row.reasons,
  telemetry: row.telemetry as Session['telemetry'],
  evidence: row.evidence as Session['evidence'],
  credentialId: row.credential_id,
  counted: row.counted as Session['counted'],
  jkt: row.jkt,
})

/** The sessions behind several keys, whosever they are, each in the place of its key. */
export const findSessions = async (
  tx: Tx,
  keys: readonly SessionKey[],
): Promise<readonly (Session | undefined)[]> => {
  const query = sql<Row & { n: number }>`
    select asked.n::int as n, ${sql.join(columns.map((column) => sql.ref(`session.${column}`)))}
    from unnest(${keys.map((key) => key.agentId)}::text[], ${keys.map((key) => key.mode)}::text[],
      ${keys.map((key) => key.sessionId)}::text[]) with ordinality asked (agent_id, mode, session_id, n)
    join session_claims claim on claim.agent_id = asked.agent_id and claim.mode = asked.mode
      and claim.session_id = asked.session_id
    join sessions session on session.agent_id = claim.agent_id and session.session_id = claim.session_id
      and session.at = claim.at and session.mode = claim.mode`
  const rows = await executePrepared(tx, 'sessions_find', query)
  const found = new Map(rows.map((row) => [row.n, sessionOf(row)]))
  return keys.map((_, index) => found.get(index + 1))
}

export const findSession = async (tx: Tx, key: SessionKey): Promise<Session | undefined> =>
  (await findSessions(tx, [key]))[0]

type UnscoredSession = {
  readonly kind: SessionKind
  readonly status: 'open' | 'expired'
  readonly simulated: boolean
}
/** Claims the id of a session at this time; false where it was claimed before. */
const claimSession = async (tx: Tx, key: SessionKey, at: Date): Promise<boolean> => {
  const claimed = await tx
    .insertInto('session_claims')
    .values({ agent_id: key.agentId, mode: key.mode, session_id: key.sessionId, at })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return claimed.numInsertedOrUpdatedRows === 1n
}

/** Stores a session that has no score, unless its id was claimed before. */
export const insertUnscoredSession = async (
  tx: Tx,
  key: SessionKey,
  session: UnscoredSession,
): Promise<void> => {
  const at = await readNow(tx)
  if (!(await claimSession(tx, key, at))) return
  await tx
    .insertInto('sessions')
    .values({
      agent_id: key.agentId,
      session_id: key.sessionId,
      at,
      mode: key.mode,
      kind: session.kind,
      status: session.status,
      simulated: session.simulated,
    })
    .execute()
}

/** Stores a session that is scored already; false where its id was claimed before. */
export const insertScoredSession = async (
  tx: Tx,
  key: SessionKey,
  measured: SessionMeasurement,
): Promise<boolean> => {
  const at = await readNow(tx)
  if (!(await claimSession(tx, key, at))) return false
  await tx
    .insertInto('sessions')
    .values({
      agent_id: key.agentId,
      session_id: key.sessionId,
      at,
      mode: key.mode,
      kind: measured.kind,
      status: 'scored',
      simulated: measured.simulated,
      member_ref: measured.memberRef ?? null,
      workflow_id: measured.workflowId ?? null,
      challenge: measured.challenge ?? null,
      source: measured.source ?? null,
      ended_at: at,
      quality: measured.quality,
      verified: measured.verified,
      assurance: measured.assurance,
      scoring: measured.scoring,
      components: JSON.stringify(measured.components),
      flags: [...measured.flags],
      reasons: [...measured.reasons],
      telemetry: measured.telemetry ? JSON.stringify(measured.telemetry) : null,
      evidence: JSON.stringify(measured.evidence),
      salt: measured.salt,
    })
    .execute()
  return true
}

/** Says whose act a session was, once it is known. */
export const updateSessionMember = async (
  tx: Tx,
  rowKey: SessionRowKey,
  memberRef: string,
): Promise<void> => {
  await tx
    .updateTable('sessions')
    .set({ member_ref: memberRef })
    .where('agent_id', '=', rowKey.agentId)
    .where('mode', '=', rowKey.mode)
    .where('session_id', '=', rowKey.sessionId)
    .where('at', '=', rowKey.at)
    .where('member_ref', 'is', null)
    .execute()
}

export const memberSessionsMax = 500
/** What a member did, newest first, for ids begin with their time; a page at a time, those below `before`. */
export const listSessionsOfMember = async (
  tx: Tx,
  member: { readonly agentId: string; readonly mode: Mode; readonly memberId: string },
  before?: string,
): Promise<Session[]> => {
  let query = tx
    .selectFrom('sessions')
    .select(columns)
    .where('agent_id', '=', member.agentId)
    .where('mode', '=', member.mode)
    .where('member_ref', '=', member.memberId)
  if (before !== undefined) query = query.where('session_id', '<', before)
  const rows = await query.orderBy('session_id', 'desc').limit(memberSessionsMax).execute()
  return rows.map(sessionOf)
}

/** Erasure: what was recorded, what opens it, and whose it was. Hashes and figures stay, and say nothing of anybody. */
export const eraseSession = async (tx: Tx, rowKey: SessionRowKey): Promise<void> => {
  await sql`select session_forget_records(${rowKey.agentId}, ${rowKey.sessionId}, ${rowKey.at})`.execute(tx)
  await tx
    .deleteFrom('session_keys')
    .where('agent_id', '=', rowKey.agentId)
    .where('session_id', '=', rowKey.sessionId)
    .execute()
  await tx
    .deleteFrom('session_recorders')
    .where('agent_id', '=', rowKey.agentId)
    .where('session_id', '=', rowKey.sessionId)
    .execute()
  await tx
    .updateTable('sessions')
    .set({ member_ref: null, challenge: null, salt: null })
    .where('agent_id', '=', rowKey.agentId)
    .where('mode', '=', rowKey.mode)
    .where('session_id', '=', rowKey.sessionId)
    .where('at', '=', rowKey.at)
    .execute()
}

type ViewPage = {
  readonly agentId: string
  readonly mode: Mode
  readonly since: Date
  /** Keyset: rows after this one. */
  readonly after?: { readonly at: Date; readonly sessionId: string }
  readonly limit: number
}
/** View sessions, oldest first, so that polling by the last row never loses one. */
export const listViews = async (tx: Tx, page: ViewPage): Promise<Session[]> => {
  let query = tx
    .selectFrom('sessions')
    .select(columns)
    .where('agent_id', '=', page.agentId)
    .where('mode', '=', page.mode)
    .where('kind', '=', 'view')
    .where('at', '>=', page.since)
  const { after } = page
  if (after) query = query.where(sql<boolean>`(at, session_id) > (${after.at}, ${after.sessionId})`)
  const rows = await query.orderBy('at').orderBy('session_id').limit(page.limit).execute()
  return rows.map(sessionOf)
}

type ViewSummary = {
  readonly views: number
  readonly verified: number
  readonly rejected: number
  readonly avgQuality: number | null
  readonly flags: Record<string, number>
}
export const findViewSummary = async (
  tx: Tx,
  range: { agentId: string; mode: Mode; since: Date },
): Promise<ViewSummary> => {
  const counts = await tx
    .selectFrom('sessions')
    .select([
      sql<number>`count(*)::int`.as('views'),
      sql<number>`(count(*) filter (where verified))::int`.as('verified'),
      sql<number>`(count(*) filter (where not verified))::int`.as('rejected'),
      sql<number | null>`avg(quality)`.as('quality'),
    ])
    .where('agent_id', '=', range.agentId)
    .where('mode', '=', range.mode)
    .where('kind', '=', 'view')
    .where('at', '>=', range.since)
    .executeTakeFirstOrThrow()
  const { rows } = await sql<{ flag: string; count: number }>`
    select flag, count(*)::int as count from sessions, unnest(flags) as flag
    where agent_id = ${range.agentId} and mode = ${range.mode} and kind = 'view' and at >= ${range.since}
    group by flag order by flag limit 64`.execute(tx)
  return {
    views: counts.views,
    verified: counts.verified,
    rejected: counts.rejected,
    avgQuality: counts.quality,
    flags: Object.fromEntries(rows.map((row) => [row.flag, row.count])),
  }
}

/** What an auditor needs beside the chunks, and what the page's headers said. */
type SessionOpening = {
  readonly nonce: string
  readonly x: string
  readonly y: string
  readonly client: Client
}

type NewRecording = {
  readonly recording: Recording
  readonly workflowId: string | null
  readonly challenge: string | null
  readonly jkt: string
  readonly opening: SessionOpening
  readonly sealedKey: string
}
/** Stores an open session with everything that recording it needs, in one statement. */
export const insertRecording = async (tx: Tx, made: NewRecording): Promise<void> => {
  const { recording } = made
  const { agentId, sessionId, mode, kind, at } = recording
  await sql`
    with claim as (
      insert into session_claims (agent_id, mode, session_id, at) values (${agentId}, ${mode}, ${sessionId}, ${at})
    ), session as (
      insert into sessions (agent_id, session_id, at, mode, kind, status, workflow_id, challenge, jkt, opening)
      values (${agentId}, ${sessionId}, ${at}, ${mode}, ${kind}, 'open', ${made.workflowId}, ${made.challenge},
        ${made.jkt}, ${JSON.stringify(made.opening)})
    ), key as (
      insert into session_keys (agent_id, session_id, sealed) values (${agentId}, ${sessionId}, ${made.sealedKey})
    )
    insert into session_recorders (agent_id, session_id, mode, kind, at, expires_at, public_key, state)
    values (${agentId}, ${sessionId}, ${mode}, ${kind}, ${at}, ${recording.expiresAt}, ${recording.publicKey},
      ${JSON.stringify(recording.state)})`.execute(tx)
}

export type LockedRecording = Recording & { readonly sealedKey: string; readonly now: Date }

/** Finds recordings by session id alone and locks them, in one order, so that two batches never wait for each other. */
export const lockRecordings = async (tx: Tx, sessionIds: readonly string[]): Promise<LockedRecording[]> => {
  const { rows } = await sql<{
    agent_id: string
    session_id: string
    mode: Mode
    kind: RecordedKind
    at: Date
    expires_at: Date
    status: Recording['status']
    public_key: Buffer
    state: RecordingState
    sealed: string
    now: Date
  }>`
    select r.agent_id, r.session_id, r.mode, r.kind, r.at, r.expires_at, r.status, r.public_key, r.state, k.sealed,
      pohf_now() as now
    from session_recorders r join session_keys k on k.agent_id = r.agent_id and k.session_id = r.session_id
    where r.session_id = any(${[...sessionIds]}::text[]) order by r.session_id for update of r`.execute(tx)
  return rows.map((row) => ({
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
/** Writes new states and new chunks, of any number of sessions, in one statement. */
export const updateRecordings = async (
  tx: Tx,
  changed: readonly Recording[],
  chunks: readonly NewChunk[],
): Promise<void> => {
  if (changed.length === 0) return
  await sql`
    with moved as (
      update session_recorders r set state = v.state::jsonb
      from unnest(${changed.map((one) => one.agentId)}::text[], ${changed.map((one) => one.sessionId)}::text[],
        ${changed.map((one) => JSON.stringify(one.state))}::text[]) as v(agent_id, session_id, state)
      where r.agent_id = v.agent_id and r.session_id = v.session_id
    )
    insert into session_chunks (agent_id, session_id, seq, at, leaf, ciphertext)
    select * from unnest(${chunks.map((one) => one.agentId)}::text[], ${chunks.map((one) => one.sessionId)}::text[],
      ${chunks.map((one) => one.seq)}::int[], ${chunks.map((one) => one.at)}::timestamptz[],
      ${chunks.map((one) => one.leaf)}::bytea[], ${chunks.map((one) => one.ciphertext)}::bytea[])`.execute(tx)
}

type StoredChunk = { readonly seq: number; readonly leaf: Buffer; readonly ciphertext: Buffer }
type SessionRowKey = SessionKey & { readonly at: Date }

/** Longer than any session runs: by it PostgreSQL looks into one day or two, not into all. */
const recordingHoursMax = 2
const withinSessionTime = (rowKey: SessionRowKey) =>
  sql<boolean>`agent_id = ${rowKey.agentId} and session_id = ${rowKey.sessionId}
    and at >= ${rowKey.at} and at < ${new Date(rowKey.at.getTime() + recordingHoursMax * 3_600_000)}`

export const listLeaves = async (tx: Tx, rowKey: SessionRowKey): Promise<Buffer[]> => {
  const rows = await tx
    .selectFrom('session_chunks')
    .select('leaf')
    .where(withinSessionTime(rowKey))
    .orderBy('seq')
    .limit(telemetryLimits.chunksPerSession)
    .execute()
  return rows.map((row) => row.leaf)
}

/** Encrypted records in their order; fewer, or none, once they are past their retention. */
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

type SessionClosing = {
  readonly endedAt: Date
  readonly telemetry: Telemetry
  readonly leaves: Buffer
  readonly faults: readonly string[]
}
/** Ends a session and its recording. */
export const updateSessionClosed = async (
  tx: Tx,
  rowKey: SessionRowKey,
  closing: SessionClosing,
): Promise<void> => {
  await sql`
    with recorder as (
      update session_recorders set status = 'closed'
      where agent_id = ${rowKey.agentId} and session_id = ${rowKey.sessionId}
    )
    update sessions set status = 'closed', ended_at = ${closing.endedAt}, leaves = ${closing.leaves},
      telemetry = ${JSON.stringify(closing.telemetry)}, faults = ${[...closing.faults]}
    where agent_id = ${rowKey.agentId} and session_id = ${rowKey.sessionId} and at = ${rowKey.at}
      and status = 'open'`.execute(tx)
}

const expireBatchMax = 500

/** Ends what was not finished in time, a batch at a time; says how many. Safe to run on every node. */
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

/** Drops recorders a day after their time was over: until then a late or repeated call is told what happened. */
export const deleteOldRecorders = async (tx: Tx): Promise<number> => {
  const { numAffectedRows } = await sql`
    delete from session_recorders where ctid = any(array(
      select ctid from session_recorders
      where status <> 'open' and expires_at < pohf_now() - interval '1 day' limit ${expireBatchMax}))`.execute(
    tx,
  )
  return Number(numAffectedRows ?? 0)
}

/** Drops recorded days past their retention. */
export const dropOldChunks = async (tx: Tx, keepDays: number): Promise<void> => {
  await sql`select pohf_drop_days('session_chunks', ${keepDays})`.execute(tx)
}

type RecordedSession = {
  readonly session: Session
  readonly telemetry: Telemetry
  readonly nonce: string
  readonly key: PublicJwk
  readonly client: Client
  readonly leaves: readonly Buffer[]
  readonly faults: readonly string[]
  /** Null once the subject was erased. */
  readonly sealedKey: string | null
}
/** A recorded session that has ended, with what opens its records. */
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
  const { nonce, x, y, client } = row.opening
  return {
    session,
    telemetry: session.telemetry,
    nonce,
    key: { kty: 'EC', crv: 'P-256', x, y },
    client,
    leaves: unpackLeaves(row.leaves),
    faults: row.faults,
    sealedKey: row.sealed,
  }
}

/** Sessions that wait for their score, oldest first. */
export const listClosedSessions = async (tx: Tx, limit: number): Promise<SessionKey[]> => {
  const rows = await tx
    .selectFrom('sessions')
    .select(['agent_id', 'mode', 'session_id'])
    .where('status', '=', 'closed')
    .orderBy('at')
    .orderBy('session_id')
    .limit(limit)
    .execute()
  return rows.map((row) => ({ agentId: row.agent_id, mode: row.mode as Mode, sessionId: row.session_id }))
}

type SessionScoreUpdate = Pick<
  SessionMeasurement,
  'quality' | 'verified' | 'assurance' | 'scoring' | 'components' | 'flags' | 'reasons' | 'evidence' | 'salt'
> & { readonly counted: EvidenceCounts | null }
/** Scores a closed session; false where it is not closed, or was scored before. */
export const updateSessionScored = async (
  tx: Tx,
  key: SessionKey,
  score: SessionScoreUpdate,
): Promise<boolean> => {
  const result = await tx
    .updateTable('sessions')
    .set({
      status: 'scored',
      quality: score.quality,
      verified: score.verified,
      assurance: score.assurance,
      scoring: score.scoring,
      components: JSON.stringify(score.components),
      flags: [...score.flags],
      reasons: [...score.reasons],
      evidence: JSON.stringify(score.evidence),
      counted: score.counted && JSON.stringify(score.counted),
      salt: score.salt,
    })
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('session_id', '=', key.sessionId)
    .where('status', '=', 'closed')
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}

/** Erasure: what was recorded stays as bytes that nobody can open, and the hashes stay right. */
export const deleteSubjectKey = async (tx: Tx, key: SessionKey): Promise<boolean> => {
  const result = await tx
    .deleteFrom('session_keys')
    .where('agent_id', '=', key.agentId)
    .where('session_id', '=', key.sessionId)
    .executeTakeFirst()
  return result.numDeletedRows === 1n
}
