import { sql } from 'kysely'
import type { Session, SessionKey } from '../sessions/index.ts'
import type { RecordedView } from './engines/port.ts'
import { executePrepared, type Tx } from '../platform/db/db.ts'

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

type EventId = SessionKey & { readonly eventId: string }

/** Those of these event ids that were stored before. */
export const listClaimedEventIds = async (tx: Tx, ids: readonly EventId[]): Promise<EventId[]> => {
  if (ids.length === 0) return []
  const query = sql<EventId>`
    select given.agent_id as "agentId", given.mode, given.session_id as "sessionId", given.event_id as "eventId"
    from unnest(${keysOf(ids)}, ${ids.map(({ eventId }) => eventId)}::text[])
      given (agent_id, mode, session_id, event_id),
    lateral (
      select from track_event_claims c
      where c.agent_id = given.agent_id and c.mode = given.mode and c.session_id = given.session_id
        and c.client_event_id = given.event_id
      limit 1) found`
  return executePrepared(tx, 'track_event_claims_list', query)
}

/** The numbers of the pages on which views begin, in their order. */
export const claimLandingPages = async (
  tx: Tx,
  landings: readonly { readonly view: RecordedView; readonly path: string | null }[],
): Promise<number[]> => {
  if (landings.length === 0) return []
  const views = landings.map(({ view }) => view)
  const query = sql<{ n: bigint; page: number }>`
    select n, attention_page(agent_id, mode, at, path) as page
    from (
      select * from unnest(${keysOf(views)}, ${views.map(({ viewedAt }) => viewedAt)}::timestamptz[],
        ${landings.map(({ path }) => path)}::text[])
        with ordinality given (agent_id, mode, session_id, at, path, n)
      order by agent_id collate "C", mode collate "C", at, path collate "C") given`
  const rows = await executePrepared(tx, 'attention_pages_claim', query)
  const pages = new Map(rows.map(({ n, page }) => [Number(n), page]))
  return landings.map((_, index) => pages.get(index + 1) ?? 0)
}

/** Claims event ids of beacons that count, and stores the counters of their views, whose rows are locked. */
export const updateTrackedViews = async (
  tx: Tx,
  views: readonly TrackedView[],
  ids: readonly (EventId & { readonly viewedAt: Date })[],
): Promise<void> => {
  const query = sql`
    with claim as (
      insert into track_event_claims (agent_id, mode, session_id, client_event_id, viewed_at)
      select * from unnest(${keysOf(ids)}, ${ids.map(({ eventId }) => eventId)}::text[],
        ${ids.map(({ viewedAt }) => viewedAt)}::timestamptz[]))
    update track_views v set beacons = given.beacons, engaged = given.engaged, page = given.page
    from (
      select listed.* from unnest(${keysOf(views)}, ${views.map(({ beacons }) => beacons)}::int[],
        ${views.map(({ engaged }) => engaged)}::boolean[], ${views.map(({ page }) => page)}::smallint[])
        listed (agent_id, mode, session_id, beacons, engaged, page),
      lateral (
        select from track_views held
        where held.agent_id = listed.agent_id and held.mode = listed.mode and held.session_id = listed.session_id
        limit 1) found) given
    where v.agent_id = given.agent_id and v.mode = given.mode and v.session_id = given.session_id`
  await executePrepared(tx, 'track_views_update', query)
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

const claimTables = ['track_views', 'track_event_claims', 'conversion_claims'] as const
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
