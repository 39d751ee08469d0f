import { sql, type Selectable } from 'kysely'
import type { Mode } from '@pohf/protocol'
import { executePrepared, readNow, type Tx } from '../platform/db/db.ts'
import type { DB } from '../platform/db/schema.ts'
import type { EvidenceCounts, SessionMeasurement, Session, SessionKind } from './rules.ts'

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

type Row = Pick<Selectable<DB['sessions']>, (typeof columns)[number]>

const sessionOf = (row: Row): Session => ({
  sessionId: row.session_id,
  at: row.at,
  kind: row.kind,
  status: row.status,
  simulated: row.simulated,
  memberRef: row.member_ref,
  workflowId: row.workflow_id,
  challenge: row.challenge,
  source: row.source,
  endedAt: row.ended_at,
  quality: row.quality,
  verified: row.verified,
  assurance: row.assurance,
  scoring: row.scoring,
  components: row.components,
  flags: row.flags,
  reasons: row.reasons,
  telemetry: row.telemetry,
  evidence: row.evidence,
  credentialId: row.credential_id,
  counted: row.counted,
  jkt: row.jkt,
})

/** Sessions of any tenant, in the order of the keys. */
export const findSessions = async (
  tx: Tx,
  keys: readonly SessionKey[],
): Promise<readonly (Session | undefined)[]> => {
  const query = sql<Row & { n: number }>`
    select requested.n::int as n, ${sql.join(columns.map((column) => sql.ref(`session.${column}`)))}
    from unnest(${keys.map((key) => key.agentId)}::text[], ${keys.map((key) => key.mode)}::text[],
      ${keys.map((key) => key.sessionId)}::text[]) with ordinality requested (agent_id, mode, session_id, n)
    cross join lateral (
      select c.at from session_claims c where c.agent_id = requested.agent_id and c.mode = requested.mode
        and c.session_id = requested.session_id
      limit 1) claim
    cross join lateral (
      select ${sql.join(columns.map((column) => sql.ref(`s.${column}`)))} from sessions s
      where s.agent_id = requested.agent_id and s.session_id = requested.session_id and s.at = claim.at
        and s.mode = requested.mode
      limit 1) session`
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

/** Claims the id of a session; false when it was claimed before. */
const claimSession = async (tx: Tx, key: SessionKey, at: Date): Promise<boolean> => {
  const claimed = await tx
    .insertInto('session_claims')
    .values({ agent_id: key.agentId, mode: key.mode, session_id: key.sessionId, at })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return claimed.numInsertedOrUpdatedRows === 1n
}

/** Stores a session without a score, unless its id was claimed before. */
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

/** Stores a session with its score; false when its id was claimed before. */
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

/** Sets the member of a session that has none yet. */
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

/** Sessions of a member, newest first, because ids begin with their time; one page below `before`. */
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

/**
 * Erasure: deletes the records, their key and the member reference. Hashes and figures stay; they identify nobody.
 */
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

const visitorSessionsMax = 500

/**
 * Retention: deletes the oldest sessions that have neither a credential nor a member, with their keys and claims, a batch
 * at a time; returns how many. Safe to run on every node.
 */
export const deleteVisitorSessions = async (tx: Tx, keepDays: number): Promise<number> => {
  const { numAffectedRows } = await sql`
    with due as (
      select agent_id, mode, session_id, at from sessions
      where status <> 'sealed' and member_ref is null and at < pohf_now() - make_interval(days => ${keepDays})
      order by at, session_id limit ${visitorSessionsMax} for update skip locked
    ), claim as (
      delete from session_claims c using due
      where c.agent_id = due.agent_id and c.mode = due.mode and c.session_id = due.session_id
    ), key as (
      delete from session_keys k using due where k.agent_id = due.agent_id and k.session_id = due.session_id
    ), recorder as (
      delete from session_recorders r using due where r.agent_id = due.agent_id and r.session_id = due.session_id
    )
    delete from sessions s using due
    where s.agent_id = due.agent_id and s.session_id = due.session_id and s.at = due.at`.execute(tx)
  return Number(numAffectedRows ?? 0)
}

type ViewPage = {
  readonly agentId: string
  readonly mode: Mode
  readonly since: Date
  /** Keyset: rows after this one. */
  readonly after?: { readonly at: Date; readonly sessionId: string }
  readonly limit: number
}

/** View sessions, oldest first, so that polling after the last row never misses one. */
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

export type SessionRowKey = SessionKey & { readonly at: Date }

/** Closed sessions without a score, oldest first. */
export const listClosedSessions = async (tx: Tx, limit: number): Promise<SessionRowKey[]> => {
  const rows = await tx
    .selectFrom('sessions')
    .select(['agent_id', 'mode', 'session_id', 'at'])
    .where('status', '=', 'closed')
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

type SessionScoreUpdate = Pick<
  SessionMeasurement,
  'quality' | 'verified' | 'assurance' | 'scoring' | 'components' | 'flags' | 'reasons' | 'evidence' | 'salt'
> & { readonly counted: EvidenceCounts | null }

/** Stores the score of a closed session; false when it is not closed or was scored before. */
export const updateSessionScored = async (
  tx: Tx,
  rowKey: SessionRowKey,
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
    .where('agent_id', '=', rowKey.agentId)
    .where('mode', '=', rowKey.mode)
    .where('session_id', '=', rowKey.sessionId)
    .where('at', '=', rowKey.at)
    .where('status', '=', 'closed')
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}
