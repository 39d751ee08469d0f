import { sql } from 'kysely'
import type { Mode } from '@pohf/protocol'
import { now, type Tx } from '../../../platform/db/db.ts'

/**
 * A delivery that is sent in the request of another has its due_at this much later than the other: longer than the retry
 * schedule.
 */
export const sentWithDelay = sql`interval '4 days'`

type QueueKey = {
  readonly agentId: string
  readonly mode: Mode
  readonly endpointId: string
  readonly eventId: string
}
/** Which of these deliveries exist. */
export const listQueued = async (tx: Tx, deliveries: readonly QueueKey[]): Promise<QueueKey[]> => {
  if (deliveries.length === 0) return []
  const { rows } = await sql<QueueKey>`
    select given.agent_id as "agentId", given.mode, given.endpoint_id as "endpointId", given.event_id as "eventId"
    from unnest(${deliveries.map((one) => one.agentId)}::text[], ${deliveries.map((one) => one.mode)}::text[],
      ${deliveries.map((one) => one.endpointId)}::text[], ${deliveries.map((one) => one.eventId)}::text[])
      given(agent_id, mode, endpoint_id, event_id)
    cross join lateral (
      select from webhook_deliveries known
      where known.agent_id = given.agent_id and known.mode = given.mode and known.endpoint_id = given.endpoint_id
        and known.event_id = given.event_id
      limit 1) found`.execute(tx)
  return rows
}

/** Deliveries that one call joins to others: each takes a look-up for every endpoint of the URL. */
const joinedMax = 2_000

/**
 * Lets pending deliveries of an endpoint be sent with a pending delivery of the same event to another endpoint of the
 * same agent and URL, if there is one.
 */
export const updateRequestsShared = async (
  tx: Tx,
  endpoint: { readonly agentId: string; readonly endpointId: string },
): Promise<void> => {
  const twins = await tx
    .selectFrom('webhook_endpoints as own')
    .innerJoin('webhook_endpoints as twin', (join) =>
      join
        .onRef('twin.agent_id', '=', 'own.agent_id')
        .onRef('twin.mode', '=', 'own.mode')
        .onRef('twin.url', '=', 'own.url')
        .onRef('twin.endpoint_id', '<>', 'own.endpoint_id')
        .on('twin.state', '=', 'enabled'),
    )
    .select('twin.endpoint_id')
    .where('own.agent_id', '=', endpoint.agentId)
    .where('own.endpoint_id', '=', endpoint.endpointId)
    .execute()
  if (twins.length === 0) return
  await sql`
    update webhook_deliveries delivery set sent_with = shareable.sent_with, scheduled = true,
      due_at = shareable.due_at + ${sentWithDelay}
    from (
      select mine.agent_id, mine.delivery_id, other.delivery_id as sent_with, other.due_at
      from (
        select agent_id, mode, delivery_id, event_id from webhook_deliveries waiting
        where agent_id = ${endpoint.agentId} and endpoint_id = ${endpoint.endpointId} and state = 'pending'
          and sent_with is null and not exists (
            select from webhook_deliveries carried
            where carried.agent_id = waiting.agent_id and carried.sent_with = waiting.delivery_id
              and carried.settled_at is null)
        limit ${joinedMax}) mine,
      lateral (
        select delivery_id, due_at from webhook_deliveries known
        where known.agent_id = mine.agent_id and known.mode = mine.mode and known.event_id = mine.event_id
          and known.endpoint_id = any(${twins.map((twin) => twin.endpoint_id)}::text[])
          and known.settled_at is null and known.sent_with is null
        limit 1) other) shareable
    where delivery.agent_id = shareable.agent_id and delivery.delivery_id = shareable.delivery_id`.execute(tx)
}

/** The previous secret of an endpoint while it still signs. */
export const previousSecret = (endpoint: string) =>
  sql<
    string | null
  >`case when ${sql.ref(endpoint)}.previous_until > pohf_now() then ${sql.ref(endpoint)}.previous_sealed end`

/** An agent has at most 50 enabled endpoints. */
const carriedMax = 50

/** The deliveries that the requests of these deliveries carry too. */
export const listCarried = async (
  tx: Tx,
  deliveries: readonly { readonly agent_id: string; readonly delivery_id: string }[],
) => {
  const { rows } = await sql<{
    agent_id: string
    delivery_id: string
    endpoint_id: string
    sent_with: string
    url: string
    secret_sealed: string
    previous_sealed: string | null
  }>`
    select other.agent_id, other.delivery_id, other.endpoint_id, given.delivery_id as sent_with, endpoint.url,
      endpoint.secret_sealed, ${previousSecret('endpoint')} as previous_sealed
    from unnest(${deliveries.map((one) => one.agent_id)}::text[], ${deliveries.map((one) => one.delivery_id)}::text[])
      given(agent_id, delivery_id),
    lateral (
      select carried.agent_id, carried.delivery_id, carried.endpoint_id from webhook_deliveries carried
      where carried.agent_id = given.agent_id and carried.sent_with = given.delivery_id and carried.settled_at is null
      limit ${carriedMax}) other
    cross join lateral (
      select url, secret_sealed, previous_sealed, previous_until from webhook_endpoints
      where webhook_endpoints.agent_id = other.agent_id and webhook_endpoints.endpoint_id = other.endpoint_id
        and state = 'enabled'
      limit 1) endpoint
    order by other.endpoint_id`.execute(tx)
  return rows
}

/** A claimed delivery with those that its request carries too. */
type SharedRequest = {
  readonly agentId: string
  readonly deliveryId: string
  readonly attempt: number
  readonly carried: readonly { readonly deliveryId: string }[]
}
const flatten = (requests: readonly SharedRequest[]) =>
  requests
    .flatMap(({ agentId, deliveryId, attempt, carried }) =>
      carried.map((one) => ({ agentId, sentWith: deliveryId, attempt, deliveryId: one.deliveryId })),
    )
    .toSorted((a, b) => (a.deliveryId < b.deliveryId ? -1 : 1))

/** Settles what requests carried, or delays it with the request. The caller has checked that its claim holds. */
const updateCarried = async (
  tx: Tx,
  requests: readonly SharedRequest[],
  change: { readonly state: 'pending' | 'delivered' | 'dead'; readonly waitMs: number },
): Promise<void> => {
  const rows = flatten(requests)
  if (rows.length === 0) return
  await sql`
    update webhook_deliveries delivery set state = ${change.state}, attempts = given.attempt,
      settled_at = ${change.state === 'pending' ? null : now()}::timestamptz,
      scheduled = true, due_at = pohf_now() + make_interval(secs => ${change.waitMs / 1_000}) + ${sentWithDelay}
    from (
      select listed.agent_id, listed.delivery_id, listed.attempt
      from unnest(${rows.map((row) => row.agentId)}::text[], ${rows.map((row) => row.deliveryId)}::text[],
        ${rows.map((row) => row.sentWith)}::text[], ${rows.map((row) => row.attempt)}::int[])
        listed(agent_id, delivery_id, sent_with, attempt),
      lateral (
        select from webhook_deliveries carried
        where carried.agent_id = listed.agent_id and carried.delivery_id = listed.delivery_id
          and carried.sent_with = listed.sent_with and carried.settled_at is null
        limit 1 for update) found) given
    where delivery.agent_id = given.agent_id and delivery.delivery_id = given.delivery_id`.execute(tx)
}
export const updateCarriedDelivered = (tx: Tx, requests: readonly SharedRequest[]): Promise<void> =>
  updateCarried(tx, requests, { state: 'delivered', waitMs: 0 })
export const updateCarriedDead = (tx: Tx, request: SharedRequest): Promise<void> =>
  updateCarried(tx, [request], { state: 'dead', waitMs: 0 })
export const updateCarriedDue = (tx: Tx, request: SharedRequest, waitMs: number): Promise<void> =>
  updateCarried(tx, [request], { state: 'pending', waitMs })

/**
 * Splits the pending shared requests of this endpoint, because it is disabled, deleted or has another URL: the deliveries
 * of other endpoints that they carry get requests of their own, one for each event.
 */
export const splitSharedRequests = async (
  tx: Tx,
  endpoint: { readonly agentId: string; readonly endpointId: string },
): Promise<void> => {
  await sql`
    update webhook_deliveries delivery set sent_with = nullif(next.sent_with, delivery.delivery_id),
      scheduled = true,
      due_at = case when next.sent_with = delivery.delivery_id then next.due_at else delivery.due_at end
    from (
      select carried.agent_id, carried.delivery_id, greatest(sent.due_at, sent.lease_until) as due_at,
        min(carried.delivery_id) over (partition by carried.sent_with) as sent_with
      from webhook_deliveries sent
      join webhook_deliveries carried on carried.agent_id = sent.agent_id and carried.sent_with = sent.delivery_id
        and carried.settled_at is null
      where sent.agent_id = ${endpoint.agentId} and sent.endpoint_id = ${endpoint.endpointId}
        and sent.state = 'pending') next
    where delivery.agent_id = next.agent_id and delivery.delivery_id = next.delivery_id`.execute(tx)
}

/** Takes the deliveries of this endpoint out of the requests of other endpoints, because it has another URL now. */
export const leaveSharedRequests = async (
  tx: Tx,
  endpoint: { readonly agentId: string; readonly endpointId: string },
): Promise<void> => {
  await sql`
    update webhook_deliveries set sent_with = null, scheduled = false, due_at = pohf_now()
    where agent_id = ${endpoint.agentId} and endpoint_id = ${endpoint.endpointId} and state = 'pending'
      and sent_with is not null`.execute(tx)
}
