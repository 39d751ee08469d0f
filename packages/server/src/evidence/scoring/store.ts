import { sql, type Selectable } from 'kysely'
import type { Mode } from '@pohf/protocol'
import { executePrepared, type Tx } from '../../platform/db/db.ts'
import type { DB } from '../../platform/db/schema.ts'

type SketchScope = { readonly agentId: string; readonly sessionId: string; readonly scope: string }

type Sketch = { readonly cell: number; readonly bytes: Buffer }

type NewSketch = SketchScope & Sketch & { readonly number: number; readonly at: Date }

/** Stores the sketches of sessions. A session that already has sketches since its start, `at`, is left out. */
export const insertSketches = async (tx: Tx, sketches: readonly NewSketch[]): Promise<void> => {
  if (sketches.length === 0) return
  const since = new Date(Math.min(...sketches.map(({ at }) => at.getTime())))
  const query = sql`
    insert into stroke_sketches (agent_id, session_id, number, scope, cell, sketch)
    select made.agent_id, made.session_id, made.number, made.scope, made.cell, made.sketch
    from unnest(${sketches.map(({ agentId }) => agentId)}::text[], ${sketches.map(({ sessionId }) => sessionId)}::text[],
      ${sketches.map(({ at }) => at)}::timestamptz[], ${sketches.map(({ number }) => number)}::int[],
      ${sketches.map(({ scope }) => scope)}::text[], ${sketches.map(({ cell }) => cell)}::bigint[],
      ${sketches.map(({ bytes }) => bytes)}::bytea[]) made (agent_id, session_id, at, number, scope, cell, sketch)
    where not exists (
      select from stroke_sketches s where s.agent_id = made.agent_id and s.session_id = made.session_id
        and s.at >= made.at and s.at >= ${since} and s.at <= pohf_now())`
  await executePrepared(tx, 'stroke_sketches_insert', query)
}

/** Far more than honest data holds; an attacker who floods one cell must not slow the others down. */
const sketchesReadMax = 50_000

/**
 * Sketches of other sessions of the same scope in these cells. Reads across agents, so the transaction is the
 * system's. Prepared: it reads every day that is kept, and planning some 40 partitions takes longer than reading them.
 */
export const listSketchesNear = async (
  tx: Tx,
  session: SketchScope,
  cells: readonly number[],
): Promise<Sketch[]> => {
  if (cells.length === 0) return []
  const query = sql<Pick<Selectable<DB['stroke_sketches']>, 'cell' | 'sketch'>>`
    select cell, sketch from stroke_sketches
    where scope = ${session.scope} and cell = any(${[...cells]}::bigint[])
      and not (agent_id = ${session.agentId} and session_id = ${session.sessionId})
    limit ${sketchesReadMax}`
  const rows = await executePrepared(tx, 'stroke_sketches_near', query)
  return rows.map(({ cell, sketch }) => ({ cell: Number(cell), bytes: sketch }))
}

/** Drops sketches together with the recordings they come from. */
export const dropOldSketches = async (tx: Tx, keepDays: number): Promise<void> => {
  await sql`select pohf_drop_days('stroke_sketches', ${keepDays})`.execute(tx)
}

/** Erasure: the stroke sketches of sessions, on whichever day they were stored. */
export const deleteSketches = async (
  tx: Tx,
  agentId: string,
  sessionIds: readonly string[],
): Promise<void> => {
  if (sessionIds.length === 0) return
  await tx
    .deleteFrom('stroke_sketches')
    .where('agent_id', '=', agentId)
    .where('session_id', 'in', [...sessionIds])
    .execute()
}

type AttentionKey = { readonly agentId: string; readonly mode: Mode; readonly sessionId: string }

/** Claims a recorded session for one completion; false when it is claimed already. */
export const insertAttentionClaim = async (tx: Tx, key: AttentionKey, usedBy: string): Promise<boolean> => {
  const result = await tx
    .insertInto('attention_claims')
    .values({ agent_id: key.agentId, mode: key.mode, session_id: key.sessionId, used_by: usedBy })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return result.numInsertedOrUpdatedRows === 1n
}

/** Claims recorded sessions for credentials of their own; returns the ids of those that a completion has claimed. */
export const claimRecordings = async (
  tx: Tx,
  keys: readonly AttentionKey[],
): Promise<ReadonlySet<string>> => {
  if (keys.length === 0) return new Set()
  const recordings = sql`unnest(${keys.map(({ agentId }) => agentId)}::text[], ${keys.map(({ mode }) => mode)}::text[],
    ${keys.map(({ sessionId }) => sessionId)}::text[]) recording(agent_id, mode, session_id)`
  // In the order of the key, so that two batches cannot deadlock.
  await sql`
    insert into attention_claims (agent_id, mode, session_id, used_by)
    select agent_id, mode, session_id, session_id from ${recordings} order by agent_id, mode, session_id
    on conflict do nothing`.execute(tx)
  const { rows } = await sql<Pick<Selectable<DB['attention_claims']>, 'session_id'>>`
    select recording.session_id from ${recordings}
    cross join lateral (
      select used_by from attention_claims claim where claim.agent_id = recording.agent_id
        and claim.mode = recording.mode and claim.session_id = recording.session_id
      limit 1) claimed
    where claimed.used_by <> recording.session_id`.execute(tx)
  return new Set(rows.map((row) => row.session_id))
}
