import { sql, type Selectable } from 'kysely'
import type { Mode } from '@pohf/protocol'
import { now, type Tx } from '../../platform/db/db.ts'
import type { DB } from '../../platform/db/schema.ts'
import { lockHeldClaims, type ClaimedDelivery } from './claims/store.ts'
import type { AttemptOutcome, EndpointReply, Publication } from './rules.ts'
import { sentWithDelay, updateCarriedDead, updateCarriedDelivered, updateCarriedDue } from './shared/store.ts'

/** Enabled endpoints of these agents, locked until the commit, so that none is disabled meanwhile. */
export const listEnabledEndpoints = async (tx: Tx, agentIds: readonly string[]) =>
  tx
    .selectFrom('webhook_endpoints')
    .select(['agent_id', 'mode', 'endpoint_id', 'events', 'url'])
    .where('agent_id', 'in', [...new Set(agentIds)])
    .where('state', '=', 'enabled')
    .orderBy('agent_id')
    .orderBy('endpoint_id')
    .forShare()
    .execute()

export type NewDelivery = Publication & {
  readonly agentId: string
  readonly mode: Mode
  readonly endpointId: string
  readonly eventId: string
  readonly body: string
  readonly kind?: DeliveryRow['kind']
  readonly deliveryId?: string
  /** The delivery whose request also carries this one. */
  readonly sentWith?: string
}
/** Rows that one statement inserts: with bodies of 20 KB some 10 MB. */
const insertMax = 500

/** Queues events for endpoints. An endpoint that has the event already gets no second delivery. */
export const insertDeliveries = async (tx: Tx, deliveries: readonly NewDelivery[]): Promise<string[]> => {
  const ids: string[] = []
  for (let from = 0; from < deliveries.length; from += insertMax) {
    const rows = deliveries.slice(from, from + insertMax).map((one) => ({
      agent_id: one.agentId,
      mode: one.mode,
      delivery_id: one.deliveryId ?? tx.ids.make('dlv_'),
      endpoint_id: one.endpointId,
      event_id: one.eventId,
      body: one.body,
      kind: one.kind ?? 'event',
      sent_with: one.sentWith ?? null,
      scheduled: one.sentWith !== undefined,
      published_at: one.publishedAt ?? null,
      trace: one.trace ?? null,
      due_at: one.sentWith === undefined ? now() : sql<Date>`${now()} + ${sentWithDelay}`,
    }))
    await tx
      .insertInto('webhook_deliveries')
      .values(rows)
      .onConflict((conflict) => conflict.columns(['agent_id', 'mode', 'endpoint_id', 'event_id']).doNothing())
      .execute()
    ids.push(...rows.map((row) => row.delivery_id))
  }
  return ids
}

/** Requeues a batch of dead deliveries since a time and returns how many. Tests and probes stay dead. */
export const updateDeadRequeued = async (
  tx: Tx,
  endpoint: { readonly agentId: string; readonly endpointId: string },
  batch: { readonly since: Date; readonly limit: number },
): Promise<number> => {
  const { numAffectedRows } = await sql`
    update webhook_deliveries set state = 'pending', settled_at = null, due_at = pohf_now(), scheduled = false,
      lease_until = null, replays = replays + 1, attempts_before = attempts, sent_with = null
    where (agent_id, delivery_id) in (
      select agent_id, delivery_id from webhook_deliveries
      where agent_id = ${endpoint.agentId} and endpoint_id = ${endpoint.endpointId} and state = 'dead'
        and kind = 'event' and settled_at >= ${batch.since}
      order by settled_at limit ${batch.limit} for update)`.execute(tx)
  return Number(numAffectedRows ?? 0n)
}

type DeliveryRow = Selectable<DB['webhook_deliveries']>

export type SettledAttempt = {
  readonly claimed: ClaimedDelivery
  readonly outcome: AttemptOutcome
  readonly reply: EndpointReply
  readonly durationMs: number
}

/** Writes attempts into the log and into the hourly health of their endpoints, in one statement. */
export const insertAttempts = async (tx: Tx, attempts: readonly SettledAttempt[]): Promise<void> => {
  const settled = attempts.flatMap((one) =>
    [one.claimed, ...one.claimed.carried].map((delivery) => ({
      ...one,
      claimed: { ...one.claimed, ...delivery },
    })),
  )
  const column = <T>(read: (one: SettledAttempt) => T) => settled.map(read)
  await sql`
    with made as (
      insert into webhook_attempts
        (agent_id, mode, delivery_id, endpoint_id, event_id, attempt, outcome, status, fault, duration_ms)
      select * from unnest(
        ${column(({ claimed }) => claimed.agentId)}::text[], ${column(({ claimed }) => claimed.mode)}::text[],
        ${column(({ claimed }) => claimed.deliveryId)}::text[], ${column(({ claimed }) => claimed.endpointId)}::text[],
        ${column(({ claimed }) => claimed.eventId)}::text[], ${column(({ claimed }) => claimed.attempt)}::int[],
        ${column(({ outcome }) => outcome)}::text[],
        ${column(({ reply }) => ('status' in reply ? reply.status : null))}::int[],
        ${column(({ reply }) => ('fault' in reply ? reply.fault : null))}::text[],
        ${column(({ durationMs }) => Math.round(durationMs))}::int[])
      returning agent_id, endpoint_id, outcome, duration_ms)
    insert into webhook_health as health (agent_id, endpoint_id, hour, delivered, failed, duration_ms)
    select agent_id, endpoint_id, date_trunc('hour', pohf_now(), 'UTC'),
      count(*) filter (where outcome = 'delivered'), count(*) filter (where outcome <> 'delivered'), sum(duration_ms)
    from made group by agent_id, endpoint_id order by agent_id, endpoint_id
    on conflict (agent_id, endpoint_id, hour) do update set
      delivered = health.delivered + excluded.delivered, failed = health.failed + excluded.failed,
      duration_ms = health.duration_ms + excluded.duration_ms`.execute(tx)
}

/** Marks deliveries, and those that their requests carried, as delivered where this worker's claim still holds. */
export const updateDeliveriesDelivered = async (
  tx: Tx,
  claims: readonly ClaimedDelivery[],
): Promise<void> => {
  const { rows } = await sql<Pick<DeliveryRow, 'delivery_id'>>`
    update webhook_deliveries delivery set state = 'delivered', settled_at = pohf_now()
    from (${lockHeldClaims(claims)}) held
    where delivery.agent_id = held.agent_id and delivery.delivery_id = held.delivery_id
    returning delivery.delivery_id`.execute(tx)
  const held = new Set(rows.map((row) => row.delivery_id))
  await updateCarriedDelivered(
    tx,
    claims.filter((claim) => held.has(claim.deliveryId)),
  )
}

/** Makes a delivery a dead letter: it is not retried unless its owner replays or recovers it. */
export const updateDeliveryDead = async (tx: Tx, claimed: ClaimedDelivery): Promise<void> => {
  await tx
    .updateTable('webhook_deliveries')
    .set({ state: 'dead', settled_at: now() })
    .where('agent_id', '=', claimed.agentId)
    .where('delivery_id', '=', claimed.deliveryId)
    .where('attempts', '=', claimed.attempt)
    .where('state', '=', 'pending')
    .execute()
  await updateCarriedDead(tx, claimed)
}

export const updateDeliveryDue = async (tx: Tx, claimed: ClaimedDelivery, waitMs: number): Promise<void> => {
  await tx
    .updateTable('webhook_deliveries')
    .set({
      due_at: sql<Date>`${now()} + make_interval(secs => ${waitMs / 1_000})`,
      scheduled: true,
      lease_until: null,
    })
    .where('agent_id', '=', claimed.agentId)
    .where('delivery_id', '=', claimed.deliveryId)
    .where('attempts', '=', claimed.attempt)
    .where('state', '=', 'pending')
    .execute()
  await updateCarriedDue(tx, claimed, waitMs)
}

/** Resets the failure state of endpoints. Updates only failing ones, since every delivery calls this. */
export const updateEndpointsHealthy = async (tx: Tx, claims: readonly ClaimedDelivery[]): Promise<void> => {
  const answered = claims.flatMap((claim) =>
    [claim, ...claim.carried].map(({ endpointId }) => ({ agentId: claim.agentId, endpointId })),
  )
  await sql`
    update webhook_endpoints endpoint set failing_since = null, failures = 0, last_failure_at = null, open_until = null,
      notices = 0, watch_at = null
    from (
      select given.agent_id, given.endpoint_id
      from (
        select distinct agent_id, endpoint_id from unnest(${answered.map((one) => one.agentId)}::text[],
          ${answered.map((one) => one.endpointId)}::text[]) listed(agent_id, endpoint_id)
        order by agent_id, endpoint_id) given,
      lateral (
        select from webhook_endpoints known
        where known.agent_id = given.agent_id and known.endpoint_id = given.endpoint_id
          and failing_since is not null and state = 'enabled'
        limit 1 for update) found) failing
    where endpoint.agent_id = failing.agent_id and endpoint.endpoint_id = failing.endpoint_id`.execute(tx)
}

/** Deletes a batch of deliveries that were settled long ago and returns how many. */
export const deleteSettledDeliveries = async (
  tx: Tx,
  keep: { readonly days: number; readonly limit: number },
): Promise<number> => {
  const { numAffectedRows } = await sql`
    delete from webhook_deliveries where (agent_id, delivery_id) in (
      select agent_id, delivery_id from webhook_deliveries
      where state <> 'pending' and settled_at < pohf_now() - make_interval(days => ${keep.days})
      order by settled_at limit ${keep.limit} for update skip locked)`.execute(tx)
  return Number(numAffectedRows ?? 0n)
}

/** Deletes a batch of deliveries whose endpoint was deleted and returns how many. */
export const deleteOrphanedDeliveries = async (tx: Tx, limit: number): Promise<number> => {
  const { numAffectedRows } = await sql`
    delete from webhook_deliveries where (agent_id, delivery_id) in (
      select delivery.agent_id, delivery.delivery_id from webhook_endpoints endpoint
      join webhook_deliveries delivery using (agent_id, mode, endpoint_id)
      where endpoint.state = 'deleted' limit ${limit} for update of delivery skip locked)`.execute(tx)
  return Number(numAffectedRows ?? 0n)
}

/** Deletes a batch of endpoints marked as deleted that have no delivery left and returns how many. */
export const deleteEmptyEndpoints = async (tx: Tx, limit: number): Promise<number> => {
  const { numAffectedRows } = await sql`
    delete from webhook_endpoints where (agent_id, endpoint_id) in (
      select agent_id, endpoint_id from webhook_endpoints endpoint
      where state = 'deleted' and not exists (
        select from webhook_deliveries delivery
        where delivery.agent_id = endpoint.agent_id and delivery.mode = endpoint.mode
          and delivery.endpoint_id = endpoint.endpoint_id)
      limit ${limit} for update skip locked)`.execute(tx)
  return Number(numAffectedRows ?? 0n)
}

/** Deletes a batch of hourly health older than a week and returns how many. */
export const deleteOldHealth = async (tx: Tx, limit: number): Promise<number> => {
  const { numAffectedRows } = await sql`
    delete from webhook_health where (agent_id, endpoint_id, hour) in (
      select agent_id, endpoint_id, hour from webhook_health where hour < pohf_now() - interval '7 days'
      order by hour limit ${limit} for update skip locked)`.execute(tx)
  return Number(numAffectedRows ?? 0n)
}

/** How many deliveries could be sent now; the count stops at `max`. */
export const countReadyDeliveries = async (tx: Tx, max: number): Promise<number> => {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from (
      select from webhook_deliveries where state = 'pending' and not scheduled limit ${max}) first`.execute(
    tx,
  )
  return rows[0]?.count ?? 0
}
