import { sql } from 'kysely'
import { executePrepared, type Tx } from '../platform/db/db.ts'
import type { Session, SessionKey } from '../sessions/index.ts'
import type { BeaconBatch, RecordedOutcome, RecordedView } from './engines/port.ts'
import { beaconsPerViewMax, isEngagement, tokenDays, type Beacon } from './rules.ts'

export type TrackedView = RecordedView & {
  readonly beacons: number
  readonly engaged: boolean
  readonly converted: boolean
}

/** Names a view in a map. */
export const nameOf = ({ agentId, mode, sessionId }: SessionKey): string => `${agentId} ${mode} ${sessionId}`

const keysOf = (keys: readonly SessionKey[]) =>
  sql`${keys.map(({ agentId }) => agentId)}::text[], ${keys.map(({ mode }) => mode)}::text[],
    ${keys.map(({ sessionId }) => sessionId)}::text[]`

type TrackedRow = {
  readonly agent_id: string
  readonly mode: SessionKey['mode']
  readonly session_id: string
  readonly viewed_at: Date
  readonly segment: number
  readonly page: number
  readonly beacons: number
  readonly engaged: boolean
  readonly converted: boolean
}

/**
 * Locks the rows of views, so that concurrent calls count their beacons and conversions one after the other. In the order of
 * the key: two batches never wait for each other in a circle.
 */
export const lockTrackedViews = async (tx: Tx, keys: readonly SessionKey[]): Promise<TrackedView[]> => {
  const query = sql<TrackedRow>`
    select found.* from (
      select * from unnest(${keysOf(keys)}) given (agent_id, mode, session_id)
      order by agent_id collate "C", mode collate "C", session_id collate "C") given,
    lateral (
      select v.agent_id, v.mode, v.session_id, v.viewed_at, v.segment, v.page, v.beacons, v.engaged, v.converted
      from track_views v
      where v.agent_id = given.agent_id and v.mode = given.mode and v.session_id = given.session_id
      limit 1 for update) found`
  const rows = await executePrepared(tx, 'track_views_lock', query)
  return rows.map((row) => ({
    agentId: row.agent_id,
    mode: row.mode,
    sessionId: row.session_id,
    viewedAt: row.viewed_at,
    segment: row.segment,
    page: row.page,
    beacons: row.beacons,
    engaged: row.engaged,
    converted: row.converted,
  }))
}

export type NewTrackedView = SessionKey & { readonly session: Session }

/** Inserts the rows of views, unless a concurrent call did. */
export const insertTrackedViews = async (tx: Tx, views: readonly NewTrackedView[]): Promise<void> => {
  const sessions = views.map(({ session }) => session)
  const query = sql`
    insert into track_views (agent_id, mode, session_id, viewed_at, segment)
    select agent_id, mode, session_id, at, attention_segment(agent_id, mode, at, hostname, workflow_id)
    from unnest(${keysOf(views)}, ${sessions.map(({ at }) => at)}::timestamptz[],
      ${sessions.map(({ hostname }) => hostname)}::text[], ${sessions.map(({ workflowId }) => workflowId)}::text[])
      given (agent_id, mode, session_id, at, hostname, workflow_id)
    order by agent_id collate "C", mode collate "C", session_id collate "C"
    on conflict do nothing`
  await executePrepared(tx, 'track_views_insert', query)
}

/** Where beacons are stored, and by which columns of `track_record_beacons`. */
type BeaconTarget = {
  readonly spooled: boolean
  readonly columnsOf: (beacon: Beacon) => Readonly<Record<string, unknown>>
}

const limits = JSON.stringify({ tokenDays, perView: beaconsPerViewMax })

/** The letters that track_record_beacons returns. */
const outcomes: ReadonlyMap<string, RecordedOutcome> = new Map([
  ['s', 'stored'],
  ['d', 'duplicate'],
  ['f', 'full'],
  ['e', 'expired'],
  ['u', 'unknown'],
])
const outcomeOf = (letter: string): RecordedOutcome => {
  const outcome = outcomes.get(letter)
  if (outcome === undefined) throw new Error(`track_record_beacons returned the unknown letter "${letter}"`)
  return outcome
}

/** Records beacons in one statement, whose text is always the same. It sets the tenant itself. */
export const recordBeacons = async (
  tx: Tx,
  { views, beacons }: BeaconBatch,
  { spooled, columnsOf }: BeaconTarget,
): Promise<RecordedOutcome[]> => {
  const viewRows = views.map(({ agentId, mode, sessionId, viewedAt }, place) => ({
    place,
    agent_id: agentId,
    mode,
    session_id: sessionId,
    token_at: viewedAt.getTime() / 1_000,
  }))
  const rows = beacons.map(({ place, beacon }, n) => ({
    n,
    place,
    event_id: beacon.eventId,
    engages: isEngagement(beacon),
    path: beacon.path,
    ...columnsOf(beacon),
  }))
  const query = sql<{ outcomes: string }>`
    select track_record_beacons(${JSON.stringify(viewRows)}::json, ${JSON.stringify(rows)}::json, ${limits}::json,
      ${spooled}::boolean) as outcomes`
  const [answer] = await executePrepared(tx, 'track_record_beacons', query)
  const outcomes = Array.from(answer?.outcomes ?? '', outcomeOf)
  if (outcomes.length !== rows.length)
    throw new Error(`${outcomes.length} outcomes of ${rows.length} beacons were returned`)
  return outcomes
}

type ConversionClaim = { readonly name: string; readonly idempotencyKey: string; readonly viewedAt: Date }
/** Claims the caller's key for this view and name; false where it was claimed before. */
export const insertConversionClaim = async (
  tx: Tx,
  key: SessionKey,
  claim: ConversionClaim,
): Promise<boolean> => {
  const result = await tx
    .insertInto('conversion_claims')
    .values({
      agent_id: key.agentId,
      mode: key.mode,
      session_id: key.sessionId,
      name: claim.name,
      idempotency_key: claim.idempotencyKey,
      viewed_at: claim.viewedAt,
    })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return result.numInsertedOrUpdatedRows === 1n
}

/** Notes that a view whose row is locked has a conversion. */
export const updateTrackedViewConverted = async (tx: Tx, key: SessionKey): Promise<void> => {
  await tx
    .updateTable('track_views')
    .set({ converted: true })
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('session_id', '=', key.sessionId)
    .execute()
}

/** How long partitions of beacons are kept: the number of `track_events` in platform_partitioned. */
export const beaconMonths = 13

/**
 * Deletes the figures of beacons whose partitions the same transaction drops. Of a view near the end of a dropped
 * month some beacons may be left; they count no more.
 */
export const deleteOldBeaconFigures = async (tx: Tx): Promise<void> => {
  const first = sql`date_trunc('month', pohf_now() at time zone 'UTC') - make_interval(months => ${beaconMonths})`
  for (const table of ['beacon_hours', 'landing_hours'])
    await sql`delete from ${sql.table(table)} where hour < (${first}) at time zone 'UTC'`.execute(tx)
  for (const table of ['landing_days', 'attention_pages'])
    await sql`delete from ${sql.table(table)} where day < (${first})::date`.execute(tx)
}

const claimTables = ['track_views', 'conversion_claims'] as const
const deleteMax = 5_000

/** Deletes a batch of claims of expired tokens from each table and returns the number of rows. */
export const deleteExpiredClaims = async (tx: Tx, days: number): Promise<number> => {
  let deleted = 0
  for (const table of claimTables) {
    const { numAffectedRows } = await sql`
      delete from ${sql.table(table)} where ctid = any(array(
        select ctid from ${sql.table(table)} where viewed_at < pohf_now() - make_interval(days => ${days})
        order by viewed_at limit ${deleteMax}))`.execute(tx)
    deleted += Number(numAffectedRows ?? 0)
  }
  return deleted
}
