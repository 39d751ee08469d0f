import { sql } from 'kysely'
import type { Mode } from '@pohf/protocol'
import type { SessionKey } from '../sessions/index.ts'
import type { Tx } from '../platform/db/db.ts'
import { firstWholeHour } from '../platform/db/hours.ts'
import { isEngagement, tokenDays, type Beacon } from './rules.ts'

export type TrackedView = {
  readonly viewedAt: Date
  readonly beacons: number
  readonly engaged: boolean
  readonly converted: boolean
}

/** Locks the row of the view, so that concurrent calls count its beacons and conversions one after the other. */
export const findTrackedView = async (tx: Tx, key: SessionKey): Promise<TrackedView | undefined> => {
  const row = await tx
    .selectFrom('track_views')
    .select(['viewed_at', 'beacons', 'engaged', 'converted'])
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('session_id', '=', key.sessionId)
    .forUpdate()
    .executeTakeFirst()
  return (
    row && {
      viewedAt: row.viewed_at,
      beacons: row.beacons,
      engaged: row.engaged,
      converted: row.converted,
    }
  )
}

/** Inserts the row of the view, unless a concurrent call did. */
export const insertTrackedView = async (tx: Tx, key: SessionKey, viewedAt: Date): Promise<void> => {
  await tx
    .insertInto('track_views')
    .values({ agent_id: key.agentId, mode: key.mode, session_id: key.sessionId, viewed_at: viewedAt })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

export const listClaimedEventIds = async (
  tx: Tx,
  key: SessionKey,
  eventIds: readonly string[],
): Promise<string[]> => {
  if (eventIds.length === 0) return []
  const rows = await tx
    .selectFrom('track_event_claims')
    .select('client_event_id')
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('session_id', '=', key.sessionId)
    .where('client_event_id', 'in', eventIds)
    .execute()
  return rows.map((row) => row.client_event_id)
}

/** Stores beacons of a view whose row is locked; their sequence numbers continue from its counter. */
export const insertBeacons = async (
  tx: Tx,
  key: SessionKey,
  view: TrackedView,
  beacons: readonly Beacon[],
): Promise<void> => {
  if (beacons.length === 0) return
  const names = { agent_id: key.agentId, mode: key.mode, session_id: key.sessionId, viewed_at: view.viewedAt }
  const claims = beacons.flatMap(({ eventId }) =>
    eventId === null ? [] : [{ ...names, client_event_id: eventId }],
  )
  if (claims.length > 0) await tx.insertInto('track_event_claims').values(claims).execute()
  const firstEngagement = view.engaged ? -1 : beacons.findIndex(isEngagement)
  await tx
    .insertInto('track_events')
    .values(
      beacons.map((beacon, index) => ({
        ...names,
        seq: view.beacons + index + 1,
        first_engagement: index === firstEngagement,
        type: beacon.type,
        client_event_id: beacon.eventId,
        client_at: beacon.clientAt,
        path: beacon.path,
        props: beacon.props === null ? null : JSON.stringify(beacon.props),
      })),
    )
    .execute()
  await tx
    .updateTable('track_views')
    .set({ beacons: view.beacons + beacons.length, engaged: view.engaged || firstEngagement >= 0 })
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('session_id', '=', key.sessionId)
    .execute()
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

type NewConversion = {
  readonly eventId: string
  readonly name: string
  readonly value: number | null
  readonly currency: string | null
}
/** Stores a conversion of a view whose row is locked. */
export const insertConversion = async (
  tx: Tx,
  key: SessionKey,
  view: TrackedView,
  conversion: NewConversion,
): Promise<void> => {
  await tx
    .insertInto('conversions')
    .values({
      agent_id: key.agentId,
      event_id: conversion.eventId,
      mode: key.mode,
      session_id: key.sessionId,
      viewed_at: view.viewedAt,
      first_of_view: !view.converted,
      name: conversion.name,
      value: conversion.value,
      currency: conversion.currency,
    })
    .execute()
  if (view.converted) return
  await tx
    .updateTable('track_views')
    .set({ converted: true })
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('session_id', '=', key.sessionId)
    .execute()
}

export type Window = { readonly agentId: string; readonly mode: Mode; readonly since: Date }

/** Rows of a window that the hourly figures hold: of whole hours. */
const wholeHours = ({ agentId, mode, since }: Window) =>
  sql`agent_id = ${agentId} and mode = ${mode} and hour >= ${firstWholeHour(since)}`

const dayMs = 86_400_000

/**
 * Rows of a window before its first whole hour. A beacon or a conversion is not older than its view, and at most a day
 * later than the token of the view is valid: the conditions on `at` let PostgreSQL skip the other partitions.
 */
const partHour = ({ agentId, mode, since }: Window) => {
  const wholeFrom = firstWholeHour(since)
  const latest = new Date(wholeFrom.getTime() + (tokenDays + 1) * dayMs)
  return sql`agent_id = ${agentId} and mode = ${mode} and viewed_at >= ${since} and viewed_at < ${wholeFrom}
    and at >= ${since} and at < ${latest}`
}

/** How many views of the window sent a beacon, and how many one of these types. */
export const findBeaconCounts = async (tx: Tx, window: Window, engagement: readonly string[]) => {
  const { rows } = await sql<{ landed: number; engaged: number }>`
    select coalesce(sum(landed), 0)::int as landed, coalesce(sum(engaged), 0)::int as engaged from (
      select landed, engaged from beacon_hours where ${wholeHours(window)}
      union all
      select count(distinct session_id),
        count(distinct session_id) filter (where lower(type) = any(${[...engagement]}::text[]))
      from track_events where ${partHour(window)}) figures`.execute(tx)
  return rows[0] ?? { landed: 0, engaged: 0 }
}

/** How many conversions the views of the window had, and how many views had one. */
export const findConversionCounts = async (tx: Tx, window: Window) => {
  const { rows } = await sql<{ conversions: number; converted: number }>`
    select coalesce(sum(conversions), 0)::int as conversions, coalesce(sum(converted), 0)::int as converted from (
      select conversions, converted from conversion_hours where ${wholeHours(window)}
      union all
      select count(*), count(distinct session_id) from conversions where ${partHour(window)}) figures`.execute(
    tx,
  )
  return rows[0] ?? { conversions: 0, converted: 0 }
}

const currenciesMax = 200

/** The value of conversions by currency, added up in decimals; XXX is ISO 4217 for none named. */
export const listConversionValues = async (tx: Tx, window: Window) => {
  const { rows } = await sql<{ code: string; total: number }>`
    select code, sum(total)::double precision as total from (
      select currency as code, valued, total from conversion_hours where ${wholeHours(window)}
      union all
      select coalesce(currency, 'XXX'), 1, value::numeric from conversions
      where ${partHour(window)} and value is not null) figures
    group by code having sum(valued) > 0 order by sum(valued) desc, code limit ${currenciesMax}`.execute(tx)
  return rows
}

/** How long partitions of beacons are kept: the number of `track_events` in platform_partitioned. */
const beaconMonths = 13

/**
 * Deletes the hourly figures of beacons whose partitions the same transaction drops. Of a view near the end of a dropped
 * month some beacons may be left; they count no more.
 */
export const deleteOldBeaconHours = async (tx: Tx): Promise<void> => {
  await sql`
    delete from beacon_hours where hour < (
      date_trunc('month', pohf_now() at time zone 'UTC') - make_interval(months => ${beaconMonths})) at time zone 'UTC'`.execute(
    tx,
  )
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
