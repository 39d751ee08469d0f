import { sql, type Selectable } from 'kysely'
import type { Mode } from '@pohf/protocol'
import { now, type Tenant, type Tx } from '../../platform/db/db.ts'
import type { DB } from '../../platform/db/schema.ts'
import { claimByKeys } from '../../platform/queue/leases.ts'
import { hostLimitOf, type HostLimit } from '../rules.ts'
import type { AttemptOutcome, EndpointReply } from './rules.ts'
import {
  listCarried,
  previousSecret,
  sentWithDelay,
  updateCarriedDead,
  updateCarriedDelivered,
  updateCarriedDue,
} from './shared/store.ts'

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

export type NewDelivery = {
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
    update webhook_deliveries set state = 'pending', settled_at = null, due_at = pohf_now(), replays = replays + 1,
      attempts_before = attempts, sent_with = null
    where (agent_id, delivery_id) in (
      select agent_id, delivery_id from webhook_deliveries
      where agent_id = ${endpoint.agentId} and endpoint_id = ${endpoint.endpointId} and state = 'dead'
        and kind = 'event' and settled_at >= ${batch.since}
      order by settled_at limit ${batch.limit} for update)`.execute(tx)
  return Number(numAffectedRows ?? 0n)
}

/** A delivery that this worker holds until its lease ends; `attempt` is the fencing token. */
export type ClaimedDelivery = {
  readonly agentId: Tenant
  readonly mode: Mode
  readonly deliveryId: string
  readonly endpointId: string
  readonly eventId: string
  readonly attempt: number
  /** The position of this attempt in the retry schedule, which a replay restarts. */
  readonly retryStep: number
  readonly kind: DeliveryRow['kind']
  readonly body: string
  readonly url: string
  /** The limit of its host, until the endpoint has answered 2xx. */
  readonly hostLimit: HostLimit | undefined
  /** Deliveries of the same event to other endpoints of this agent and URL, which this request carries too. */
  readonly carried: readonly { readonly deliveryId: string; readonly endpointId: string }[]
  /** The current secret of each endpoint, and the previous one during its overlap. */
  readonly secretsSealed: readonly string[]
}
type DeliveryRow = Selectable<DB['webhook_deliveries']>

/** Due rows that one claim scans, so that a long queue does not make claiming slow. */
const scannedMax = 800

type ClaimLimits = {
  readonly limit: number
  readonly leaseSeconds: number
  readonly perEndpoint: number
  readonly perFailingEndpoint: number
  /** How many deliveries this worker holds, by endpoint. */
  readonly inFlight: ReadonlyMap<string, number>
  /** Endpoints that this worker found slow: limited as failing ones. */
  readonly slow: ReadonlySet<string>
}

/** Endpoints whose circuit breaker is open. */
const listCircuitOpen = async (tx: Tx): Promise<string[]> => {
  const rows = await tx
    .selectFrom('webhook_endpoints')
    .select('endpoint_id')
    .where('open_until', '>', now())
    .execute()
  return rows.map((row) => row.endpoint_id)
}

/** The oldest due deliveries, a few of each endpoint: a receiver that never answers must not delay the others. */
const listCandidates = async (tx: Tx, limits: ClaimLimits) => {
  const slow = [...limits.slow]
  const full = [...limits.inFlight]
    .filter(([id, count]) => count >= (limits.slow.has(id) ? limits.perFailingEndpoint : limits.perEndpoint))
    .map(([id]) => id)
  const closed = [...full, ...(await listCircuitOpen(tx))]
  const { rows } = await sql<Pick<DeliveryRow, 'agent_id' | 'delivery_id'>>`
    select agent_id, delivery_id from (
      select due.agent_id, due.delivery_id, endpoint.failing_since is null and endpoint.proven_at is not null
          and endpoint.endpoint_id <> all (${slow}::text[]) as unlimited, coalesce(busy.count, 0)
        + row_number() over (partition by due.agent_id, due.endpoint_id order by due.due_at, due.event_id) as place
      from (
        select agent_id, delivery_id, endpoint_id, event_id, due_at from webhook_deliveries
        where state = 'pending' and due_at <= pohf_now() and endpoint_id <> all (${closed}::text[])
        order by due_at, event_id limit ${scannedMax}) due
      cross join lateral (
        select endpoint_id, failing_since, proven_at from webhook_endpoints
        where webhook_endpoints.agent_id = due.agent_id and webhook_endpoints.endpoint_id = due.endpoint_id
        limit 1) endpoint
      left join unnest(${[...limits.inFlight.keys()]}::text[], ${[...limits.inFlight.values()]}::int[]) busy(endpoint_id, count)
        on busy.endpoint_id = due.endpoint_id) ranked
    where place <= case when unlimited then ${limits.perEndpoint}::int else ${limits.perFailingEndpoint}::int end
    limit ${limits.limit}`.execute(tx)
  return rows
}

/**
 * Equivalent to state = 'pending' by a check of the table, but matches no partial index: a look-up by key must not scan
 * the index of all pending rows.
 */
const unsettled = sql`settled_at is null`

/** Claims due deliveries, oldest first. In one statement with its candidates PostgreSQL would read the whole queue. */
export const claimDeliveries = async (tx: Tx, limits: ClaimLimits): Promise<ClaimedDelivery[]> => {
  const candidates = await listCandidates(tx, limits)
  if (candidates.length === 0) return []
  const rows = await claimByKeys<DeliveryRow>(
    tx,
    {
      table: 'webhook_deliveries',
      id: 'delivery_id',
      condition: unsettled,
      leaseSeconds: limits.leaseSeconds,
    },
    candidates.map((one) => ({ agentId: one.agent_id, id: one.delivery_id })),
  )
  if (rows.length === 0) return []
  const targets = await tx
    .selectFrom('webhook_endpoints')
    .select(['agent_id', 'endpoint_id', 'url', 'proven_at', 'secret_sealed'])
    .select(previousSecret('webhook_endpoints').as('previous_sealed'))
    .where('agent_id', 'in', [...new Set(rows.map((row) => row.agent_id))])
    .where('endpoint_id', 'in', [...new Set(rows.map((row) => row.endpoint_id))])
    .execute()
  const byEndpoint = new Map(targets.map((target) => [`${target.agent_id} ${target.endpoint_id}`, target]))
  const carried = Map.groupBy(await listCarried(tx, rows), (one) => `${one.agent_id} ${one.sent_with}`)
  // An update returns its rows in any order. Sorted by id, which holds the time, fewer deliveries overtake each other.
  const inOrder = rows.toSorted((a, b) => (a.event_id < b.event_id ? -1 : 1))
  return inOrder.flatMap((row) => {
    const target = byEndpoint.get(`${row.agent_id} ${row.endpoint_id}`)
    if (!target) return []
    const others = (carried.get(`${row.agent_id} ${row.delivery_id}`) ?? []).filter(
      (other) => other.url === target.url,
    )
    return {
      agentId: row.agent_id as Tenant,
      mode: row.mode,
      deliveryId: row.delivery_id,
      endpointId: row.endpoint_id,
      eventId: row.event_id,
      attempt: row.attempts,
      retryStep: row.attempts - row.attempts_before,
      kind: row.kind,
      body: row.body,
      url: target.url,
      hostLimit: target.proven_at === null ? hostLimitOf(target.url) : undefined,
      carried: others.map((other) => ({ deliveryId: other.delivery_id, endpointId: other.endpoint_id })),
      secretsSealed: [target, ...others].flatMap((signer) => [
        signer.secret_sealed,
        ...(signer.previous_sealed === null ? [] : [signer.previous_sealed]),
      ]),
    }
  })
}

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

/** Whether the claim still holds: not claimed by another worker, not settled by disabling the endpoint. */
export const findClaimHolds = async (tx: Tx, claimed: ClaimedDelivery): Promise<boolean> => {
  const row = await tx
    .selectFrom('webhook_deliveries')
    .select('delivery_id')
    .where('agent_id', '=', claimed.agentId)
    .where('delivery_id', '=', claimed.deliveryId)
    .where('attempts', '=', claimed.attempt)
    .where('state', '=', 'pending')
    .executeTakeFirst()
  return row !== undefined
}

/** The claims that still hold, locked one by one in the order of their keys. Why lateral: see platform/leases. */
const heldClaims = (claims: readonly ClaimedDelivery[]) => {
  const inOrder = claims.toSorted((a, b) =>
    `${a.agentId} ${a.deliveryId}` < `${b.agentId} ${b.deliveryId}` ? -1 : 1,
  )
  return sql`
    select found.agent_id, found.delivery_id
    from unnest(${inOrder.map((one) => one.agentId)}::text[], ${inOrder.map((one) => one.deliveryId)}::text[],
      ${inOrder.map((one) => one.attempt)}::int[]) given(agent_id, delivery_id, attempt),
    lateral (
      select agent_id, delivery_id from webhook_deliveries held
      where held.agent_id = given.agent_id and held.delivery_id = given.delivery_id
        and attempts = given.attempt and ${unsettled}
      limit 1 for update) found`
}

/** Marks deliveries, and those that their requests carried, as delivered where this worker's claim still holds. */
export const updateDeliveriesDelivered = async (
  tx: Tx,
  claims: readonly ClaimedDelivery[],
): Promise<void> => {
  const { rows } = await sql<Pick<DeliveryRow, 'delivery_id'>>`
    update webhook_deliveries delivery set state = 'delivered', settled_at = pohf_now()
    from (${heldClaims(claims)}) held
    where delivery.agent_id = held.agent_id and delivery.delivery_id = held.delivery_id
    returning delivery.delivery_id`.execute(tx)
  const held = new Set(rows.map((row) => row.delivery_id))
  await updateCarriedDelivered(
    tx,
    claims.filter((claim) => held.has(claim.deliveryId)),
  )
}

/** Makes unused claims due again. They keep their position in the retry schedule. */
export const updateClaimsReturned = async (tx: Tx, claims: readonly ClaimedDelivery[]): Promise<void> => {
  await sql`
    update webhook_deliveries delivery set due_at = pohf_now(), attempts_before = attempts_before + 1
    from (${heldClaims(claims)}) held
    where delivery.agent_id = held.agent_id and delivery.delivery_id = held.delivery_id`.execute(tx)
}

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
    .set({ due_at: sql<Date>`${now()} + make_interval(secs => ${waitMs / 1_000})` })
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

/** Deletes endpoints marked as deleted that have no delivery left, and hourly health older than a week. */
export const deleteEmptyEndpoints = async (tx: Tx, limit: number): Promise<void> => {
  await sql`
    delete from webhook_endpoints where (agent_id, endpoint_id) in (
      select agent_id, endpoint_id from webhook_endpoints endpoint
      where state = 'deleted' and not exists (
        select from webhook_deliveries delivery
        where delivery.agent_id = endpoint.agent_id and delivery.mode = endpoint.mode
          and delivery.endpoint_id = endpoint.endpoint_id)
      limit ${limit} for update skip locked)`.execute(tx)
  await sql`
    delete from webhook_health where (agent_id, endpoint_id, hour) in (
      select agent_id, endpoint_id, hour from webhook_health where hour < pohf_now() - interval '7 days'
      order by hour limit ${limit} for update skip locked)`.execute(tx)
}
