import { sql } from 'kysely'
import type { Mode } from '@pohf/protocol'
import { executePrepared, readNow, type Tx } from '../platform/db.ts'
import type { Measured, Session, SessionKind, SessionStatus } from './rules.ts'

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

type Unscored = {
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
export const insertUnscoredSession = async (tx: Tx, key: SessionKey, session: Unscored): Promise<void> => {
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
export const insertScoredSession = async (tx: Tx, key: SessionKey, measured: Measured): Promise<boolean> => {
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
