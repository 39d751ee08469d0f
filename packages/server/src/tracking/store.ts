import { sql } from 'kysely'
import type { Mode } from '@pohf/protocol'
import type { SessionKey } from '../sessions/index.ts'
import type { Tx } from '../platform/db/db.ts'
import type { Beacon } from './rules.ts'

export type TrackedView = { readonly viewedAt: Date; readonly beacons: number }

/** Locks the row of the view, so that concurrent calls count its beacons one after the other. */
export const findTrackedView = async (tx: Tx, key: SessionKey): Promise<TrackedView | undefined> => {
  const row = await tx
    .selectFrom('track_views')
    .select(['viewed_at', 'beacons'])
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('session_id', '=', key.sessionId)
    .forUpdate()
    .executeTakeFirst()
  return row && { viewedAt: row.viewed_at, beacons: row.beacons }
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
  await tx
    .insertInto('track_events')
    .values(
      beacons.map((beacon, index) => ({
        ...names,
        seq: view.beacons + index + 1,
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
    .set({ beacons: view.beacons + beacons.length })
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
  readonly viewedAt: Date
  readonly name: string
  readonly value: number | null
  readonly currency: string | null
}
export const insertConversion = async (tx: Tx, key: SessionKey, conversion: NewConversion): Promise<void> => {
  await tx
    .insertInto('conversions')
    .values({
      agent_id: key.agentId,
      event_id: conversion.eventId,
      mode: key.mode,
      session_id: key.sessionId,
      viewed_at: conversion.viewedAt,
      name: conversion.name,
      value: conversion.value,
      currency: conversion.currency,
    })
    .execute()
}

export type Window = { readonly agentId: string; readonly mode: Mode; readonly since: Date }

/** How many views of the window sent a beacon, and how many one of these types. */
export const findBeaconCounts = async (tx: Tx, window: Window, engagement: readonly string[]) => {
  const row = await tx
    .selectFrom('track_events')
    .select([
      sql<number>`count(distinct session_id)::int`.as('landed'),
      sql<number>`(count(distinct session_id) filter (where lower(type) = any(${[...engagement]}::text[])))::int`.as(
        'engaged',
      ),
    ])
    .where('agent_id', '=', window.agentId)
    .where('mode', '=', window.mode)
    .where('viewed_at', '>=', window.since)
    // A beacon is never older than its view: this lets PostgreSQL skip older partitions.
    .where('at', '>=', window.since)
    .executeTakeFirstOrThrow()
  return row
}

/** How many conversions the views of the window had, and how many views had one. */
export const findConversionCounts = async (tx: Tx, window: Window) =>
  tx
    .selectFrom('conversions')
    .select([
      sql<number>`count(*)::int`.as('conversions'),
      sql<number>`count(distinct session_id)::int`.as('converted'),
    ])
    .where('agent_id', '=', window.agentId)
    .where('mode', '=', window.mode)
    .where('viewed_at', '>=', window.since)
    .where('at', '>=', window.since)
    .executeTakeFirstOrThrow()

const currenciesMax = 200

/** The value of conversions by currency, added up in decimals; XXX is ISO 4217 for none named. */
export const listConversionValues = async (tx: Tx, window: Window) =>
  tx
    .selectFrom('conversions')
    .select([
      sql<string>`coalesce(currency, 'XXX')`.as('code'),
      sql<number>`sum(value::numeric)::double precision`.as('total'),
    ])
    .where('agent_id', '=', window.agentId)
    .where('mode', '=', window.mode)
    .where('viewed_at', '>=', window.since)
    .where('at', '>=', window.since)
    .where('value', 'is not', null)
    .groupBy('code')
    .orderBy(sql`count(*)`, 'desc')
    .orderBy('code')
    .limit(currenciesMax)
    .execute()

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
