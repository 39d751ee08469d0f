import { sql } from 'kysely'
import type { Mode } from '@pohf/protocol'
import { now, type Tenant, type Tx } from '../platform/db.ts'
import { claimDue } from '../platform/leases.ts'
import type { Outcome, Reply } from './rules.ts'

type EndpointKey = { readonly agentId: string; readonly endpointId: string }

/** Counts under a lock of this agent, so that parallel registrations cannot pass the limit together. */
export const countEnabledEndpoints = async (tx: Tx, agentId: string): Promise<number> => {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`webhook_endpoints ${agentId}`}, 0))`.execute(tx)
  const { count } = await tx
    .selectFrom('webhook_endpoints')
    .select(({ fn }) => fn.countAll<bigint>().as('count'))
    .where('agent_id', '=', agentId)
    .where('state', '=', 'enabled')
    .executeTakeFirstOrThrow()
  return Number(count)
}

export const insertEndpoint = async (
  tx: Tx,
  endpoint: EndpointKey & {
    readonly mode: Mode
    readonly url: string
    readonly events: string[]
    readonly secretSealed: string
  },
): Promise<void> => {
  await tx
    .insertInto('webhook_endpoints')
    .values({
      agent_id: endpoint.agentId,
      mode: endpoint.mode,
      endpoint_id: endpoint.endpointId,
      url: endpoint.url,
      events: endpoint.events,
      secret_sealed: endpoint.secretSealed,
    })
    .execute()
}

/** Endpoints that want the event, locked until the commit: one that is being switched off waits or is left out. */
export const listEndpointsFor = async (
  tx: Tx,
  event: { readonly agentId: string; readonly mode: Mode; readonly type: string },
): Promise<string[]> => {
  const rows = await tx
    .selectFrom('webhook_endpoints')
    .select('endpoint_id')
    .where('agent_id', '=', event.agentId)
    .where('mode', '=', event.mode)
    .where('state', '=', 'enabled')
    .where(sql<boolean>`events && ${[event.type, '*']}::text[]`)
    .orderBy('endpoint_id')
    .forShare()
    .execute()
  return rows.map((row) => row.endpoint_id)
}

/** Queues an event for endpoints; for those that have it already nothing happens. */
export const insertDeliveries = async (
  tx: Tx,
  event: { readonly agentId: string; readonly mode: Mode; readonly eventId: string; readonly body: string },
  endpointIds: readonly string[],
): Promise<void> => {
  await tx
    .insertInto('webhook_deliveries')
    .values(
      endpointIds.map((endpointId) => ({
        agent_id: event.agentId,
        mode: event.mode,
        delivery_id: tx.ids.make('dlv_'),
        endpoint_id: endpointId,
        event_id: event.eventId,
        body: event.body,
      })),
    )
    .onConflict((conflict) => conflict.columns(['agent_id', 'mode', 'endpoint_id', 'event_id']).doNothing())
    .execute()
}

/** A delivery that this worker holds until its lease ends; `attempt` is the fencing number. */
export type Claimed = {
  readonly agentId: Tenant
  readonly mode: Mode
  readonly deliveryId: string
  readonly endpointId: string
  readonly eventId: string
  readonly attempt: number
  readonly body: string
  readonly url: string
  readonly secretSealed: string
}
type ClaimedRow = {
  agent_id: Tenant
  mode: Mode
  delivery_id: string
  endpoint_id: string
  event_id: string
  attempts: number
  body: string
}

/** Due rows that one claim looks at, so that a long queue does not make claiming slow. */
const windowMax = 200

type ClaimLimits = {
  readonly limit: number
  readonly leaseSeconds: number
  readonly perEndpoint: number
  readonly perFailingEndpoint: number
  /** Endpoints that this worker has deliveries of under way; they get their next when those are done. */
  readonly busy: readonly string[]
}

/** The oldest due deliveries, a few of each endpoint: a receiver that never answers must not hold up the others. */
const listCandidates = async (tx: Tx, limits: ClaimLimits) => {
  const { rows } = await sql<{ agent_id: string; delivery_id: string }>`
    select agent_id, delivery_id from (
      select due.agent_id, due.delivery_id, endpoint.failing_since,
        row_number() over (partition by due.agent_id, due.endpoint_id order by due.due_at) as place
      from (
        select agent_id, delivery_id, endpoint_id, due_at from webhook_deliveries
        where state = 'pending' and due_at <= pohf_now() and endpoint_id <> all (${limits.busy}::text[])
        order by due_at limit ${windowMax}) due
      join webhook_endpoints endpoint using (agent_id, endpoint_id)) ranked
    where place <= case when failing_since is null then ${limits.perEndpoint}::int else ${limits.perFailingEndpoint}::int end`.execute(
    tx,
  )
  return rows
}

/** Claims due deliveries, oldest first. In one statement with its candidates PostgreSQL would read the whole queue. */
export const claimDeliveries = async (tx: Tx, limits: ClaimLimits): Promise<Claimed[]> => {
  const candidates = await listCandidates(tx, limits)
  if (candidates.length === 0) return []
  const rows = await claimDue<ClaimedRow>(tx, {
    table: 'webhook_deliveries',
    id: 'delivery_id',
    only: sql`state = 'pending' and (agent_id, delivery_id) in (
      select * from unnest(${candidates.map((one) => one.agent_id)}::text[], ${candidates.map((one) => one.delivery_id)}::text[]))`,
    limit: limits.limit,
    leaseSeconds: limits.leaseSeconds,
  })
  if (rows.length === 0) return []
  const targets = await tx
    .selectFrom('webhook_endpoints')
    .select(['agent_id', 'endpoint_id', 'url', 'secret_sealed'])
    .where(
      'agent_id',
      'in',
      rows.map((row) => row.agent_id),
    )
    .where(
      'endpoint_id',
      'in',
      rows.map((row) => row.endpoint_id),
    )
    .execute()
  return rows.flatMap((row) => {
    const target = targets.find((one) => one.agent_id === row.agent_id && one.endpoint_id === row.endpoint_id)
    if (!target) return []
    return {
      agentId: row.agent_id,
      mode: row.mode,
      deliveryId: row.delivery_id,
      endpointId: row.endpoint_id,
      eventId: row.event_id,
      attempt: row.attempts,
      body: row.body,
      url: target.url,
      secretSealed: target.secret_sealed,
    }
  })
}

export const insertAttempt = async (
  tx: Tx,
  claimed: Claimed,
  result: { readonly outcome: Outcome; readonly reply: Reply; readonly durationMs: number },
): Promise<void> => {
  await tx
    .insertInto('webhook_attempts')
    .values({
      agent_id: claimed.agentId,
      mode: claimed.mode,
      delivery_id: claimed.deliveryId,
      endpoint_id: claimed.endpointId,
      event_id: claimed.eventId,
      attempt: claimed.attempt,
      outcome: result.outcome,
      status: 'status' in result.reply ? result.reply.status : null,
      fault: 'fault' in result.reply ? result.reply.fault : null,
      duration_ms: Math.round(result.durationMs),
    })
    .execute()
}

/** Whether the claim still holds: not taken over, not settled by a switched-off endpoint. */
export const findClaimHolds = async (tx: Tx, claimed: Claimed): Promise<boolean> => {
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

export const updateDeliverySettled = async (
  tx: Tx,
  claimed: Claimed,
  state: 'delivered' | 'dead',
): Promise<void> => {
  await tx
    .updateTable('webhook_deliveries')
    .set({ state, settled_at: now() })
    .where('agent_id', '=', claimed.agentId)
    .where('delivery_id', '=', claimed.deliveryId)
    .where('attempts', '=', claimed.attempt)
    .where('state', '=', 'pending')
    .execute()
}

export const updateDeliveryDue = async (tx: Tx, claimed: Claimed, waitMs: number): Promise<void> => {
  await tx
    .updateTable('webhook_deliveries')
    .set({ due_at: sql<Date>`${now()} + make_interval(secs => ${waitMs / 1_000})` })
    .where('agent_id', '=', claimed.agentId)
    .where('delivery_id', '=', claimed.deliveryId)
    .where('attempts', '=', claimed.attempt)
    .where('state', '=', 'pending')
    .execute()
}

/** An endpoint that answers well: touched only where it was failing, since every delivery comes by here. */
export const updateEndpointHealthy = async (tx: Tx, endpoint: EndpointKey): Promise<void> => {
  await tx
    .updateTable('webhook_endpoints')
    .set({ failing_since: null })
    .where('agent_id', '=', endpoint.agentId)
    .where('endpoint_id', '=', endpoint.endpointId)
    .where('failing_since', 'is not', null)
    .execute()
}

/** Since when an enabled endpoint fails, this failure counted. Locks it until the commit. */
export const updateEndpointFailing = async (tx: Tx, endpoint: EndpointKey): Promise<Date | undefined> => {
  const row = await tx
    .updateTable('webhook_endpoints')
    .set({ failing_since: sql<Date>`coalesce(failing_since, pohf_now())` })
    .where('agent_id', '=', endpoint.agentId)
    .where('endpoint_id', '=', endpoint.endpointId)
    .where('state', '=', 'enabled')
    .returning('failing_since')
    .executeTakeFirst()
  return row?.failing_since ?? undefined
}

/** Switches an endpoint off, and with it everything that still waits for it. */
export const updateEndpointDisabled = async (
  tx: Tx,
  endpoint: EndpointKey,
  reason: 'gone' | 'failing',
): Promise<void> => {
  await tx
    .updateTable('webhook_endpoints')
    .set({ state: 'disabled', disabled_at: now(), disabled_reason: reason })
    .where('agent_id', '=', endpoint.agentId)
    .where('endpoint_id', '=', endpoint.endpointId)
    .execute()
  await tx
    .updateTable('webhook_deliveries')
    .set({ state: 'dead', settled_at: now() })
    .where('agent_id', '=', endpoint.agentId)
    .where('endpoint_id', '=', endpoint.endpointId)
    .where('state', '=', 'pending')
    .execute()
}

/** Drops a batch of deliveries that were settled long ago and says how many. */
export const deleteSettledDeliveries = async (
  tx: Tx,
  keep: { readonly days: number; readonly limit: number },
): Promise<number> => {
  const { numAffectedRows } = await sql`
    delete from webhook_deliveries where (agent_id, delivery_id) in (
      select agent_id, delivery_id from webhook_deliveries
      where state <> 'pending' and settled_at < pohf_now() - make_interval(days => ${keep.days})
      limit ${keep.limit} for update skip locked)`.execute(tx)
  return Number(numAffectedRows ?? 0n)
}
