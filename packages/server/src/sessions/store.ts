import { sql, type Selectable } from 'kysely'
import type { Mode } from '@pohf/protocol'
import { executePrepared, readNow, type Tx } from '../platform/db/db.ts'
import type { DB } from '../platform/db/schema.ts'
import type { PageScan } from '../platform/http/list-page.ts'
import type { SessionMeasurement, Session, SessionKind } from './rules.ts'

export type SessionKey = { readonly agentId: string; readonly mode: Mode; readonly sessionId: string }

export const sessionColumns = [
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
  'hostname',
  'redeemed_at',
  'redeemed_key',
] as const

export type SelectedSession = Pick<Selectable<DB['sessions']>, (typeof sessionColumns)[number]>

export const sessionOf = (row: SelectedSession): Session => ({
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
  hostname: row.hostname,
  redeemedAt: row.redeemed_at,
  redeemedKey: row.redeemed_key,
})

/** Sessions of any tenant, in the order of the keys. */
export const findSessions = async (
  tx: Tx,
  keys: readonly SessionKey[],
): Promise<readonly (Session | undefined)[]> => {
  const query = sql<SelectedSession & { n: number }>`
    select requested.n::int as n, ${sql.join(sessionColumns.map((column) => sql.ref(`session.${column}`)))}
    from unnest(${keys.map((key) => key.agentId)}::text[], ${keys.map((key) => key.mode)}::text[],
      ${keys.map((key) => key.sessionId)}::text[]) with ordinality requested (agent_id, mode, session_id, n)
    cross join lateral (
      select c.at from session_claims c where c.agent_id = requested.agent_id and c.mode = requested.mode
        and c.session_id = requested.session_id
      limit 1) claim
    cross join lateral (
      select ${sql.join(sessionColumns.map((column) => sql.ref(`s.${column}`)))} from sessions s
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
      counted: measured.counted ? JSON.stringify(measured.counted) : null,
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

/** Marks a session as used by siteverify; false where it was used before. */
export const updateSessionRedeemed = async (
  tx: Tx,
  rowKey: SessionRowKey,
  idempotencyKey: string | undefined,
): Promise<boolean> => {
  const result = await tx
    .updateTable('sessions')
    .set({ redeemed_at: sql<Date>`pohf_now()`, redeemed_key: idempotencyKey ?? null })
    .where('agent_id', '=', rowKey.agentId)
    .where('mode', '=', rowKey.mode)
    .where('session_id', '=', rowKey.sessionId)
    .where('at', '=', rowKey.at)
    .where('redeemed_at', 'is', null)
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
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
    .select(sessionColumns)
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

/** A position in the list of views. */
type ViewPosition = { readonly at: Date; readonly sessionId: string }
type ViewPage = {
  readonly agentId: string
  readonly mode: Mode
  readonly since: Date
  /** Keyset: rows after this one. */
  readonly after?: ViewPosition | undefined
  /** Rows up to this one. */
  readonly upTo?: ViewPosition | undefined
  readonly limit: number
}
/** What the list of views shows of a session. */
export type ListedView = Pick<
  Session,
  'sessionId' | 'at' | 'credentialId' | 'quality' | 'components' | 'flags'
>

const viewsOf = ({ agentId, mode, since, after, upTo }: ViewPage) =>
  sql`agent_id = ${agentId} and mode = ${mode} and kind = 'view' and at >= ${since}
    ${after ? sql`and (at, session_id) > (${after.at}, ${after.sessionId})` : sql``}
    ${upTo ? sql`and at <= ${upTo.at} and (at, session_id) <= (${upTo.at}, ${upTo.sessionId})` : sql``}`

/** View sessions, oldest first, so that polling after the last row never misses one. */
export const listViews = async (tx: Tx, page: ViewPage): Promise<ListedView[]> => {
  const { rows } = await sql<ListedView>`
    select session_id as "sessionId", at, credential_id as "credentialId", quality, components, flags from sessions
    where ${viewsOf(page)} order by at, session_id limit ${page.limit}`.execute(tx)
  return rows
}

/** The last position of a page, and whether there are rows after it; undefined for a page without rows. */
export const findViewPageEnd = async (
  tx: Tx,
  page: ViewPage,
): Promise<{ readonly last: ViewPosition; readonly hasMore: boolean } | undefined> => {
  const { rows } = await sql<ViewPosition & { n: number }>`
    select at, session_id as "sessionId", n::int from (
      select at, session_id, row_number() over (order by at, session_id) as n from (
        select at, session_id from sessions where ${viewsOf(page)} order by at, session_id limit ${page.limit + 1}) listed
    ) numbered order by n desc limit 2`.execute(tx)
  const [newest, before] = rows
  if (!newest) return undefined
  const hasMore = newest.n > page.limit
  const { at, sessionId } = hasMore && before ? before : newest
  return { last: { at, sessionId }, hasMore }
}

type SessionScan = PageScan & { readonly mode: Mode; readonly kinds: readonly SessionKind[] }
/** A session without what its recording and its evidence say in detail. */
export type ListedSession = Omit<
  Session,
  | 'sessionId'
  | 'memberRef'
  | 'challenge'
  | 'source'
  | 'scoring'
  | 'components'
  | 'telemetry'
  | 'evidence'
  | 'counted'
  | 'jkt'
  | 'redeemedAt'
  | 'redeemedKey'
> & { readonly id: string }

/** Sessions of an agent before a position, newest first: at most `rowsMax` of each kind are read. */
export const listSessions = async (tx: Tx, scan: SessionScan): Promise<ListedSession[]> => {
  const { before, until } = scan
  const { rows } = await sql<ListedSession>`
    select found.* from unnest(${[...scan.kinds]}::text[]) listed (kind) cross join lateral (
      select s.session_id as id, s.at, s.kind, s.status, s.simulated, s.workflow_id as "workflowId", s.ended_at as "endedAt",
        s.quality, s.verified, s.assurance, s.flags, s.reasons, s.credential_id as "credentialId", s.hostname
      from sessions s
      where s.agent_id = ${scan.agentId} and s.mode = ${scan.mode} and s.kind = listed.kind and s.at >= ${scan.since}
        and s.at <= pohf_now() + interval '1 day'
        ${until ? sql`and s.at < ${until}` : sql``}
        ${before ? sql`and (s.at, s.session_id) < (${before.at}, ${before.id})` : sql``}
      order by s.at desc, s.session_id desc limit ${scan.rowsMax}) found
    order by found.at desc, found.id desc limit ${scan.rowsMax}`.execute(tx)
  return rows
}

export type SessionRowKey = SessionKey & { readonly at: Date }
