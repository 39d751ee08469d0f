import { sql, type Selectable } from 'kysely'
import type { Mode } from '@pohf/protocol'
import type { Tenant, Tx } from '../../../platform/db/db.ts'
import type { DB } from '../../../platform/db/schema.ts'
import { hostLimitOf, type HostLimit } from '../../rules.ts'
import { firstWaitOf, orderInTurn } from '../rules.ts'
import type { EndpointCapacity, EndpointPosition, FirstWait } from '../rules.ts'
import { listCarried, previousSecret } from '../shared/store.ts'

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
  readonly firstWait: FirstWait | undefined
  readonly trace: string | null
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
type ClaimedRow = Pick<
  DeliveryRow,
  | 'agent_id'
  | 'mode'
  | 'delivery_id'
  | 'endpoint_id'
  | 'event_id'
  | 'body'
  | 'kind'
  | 'attempts'
  | 'attempts_before'
  | 'replays'
  | 'trace'
> & { readonly waited_ms: number | null }

export type ClaimLimits = {
  readonly limit: number
  readonly leaseSeconds: number
  readonly perEndpoint: number
  readonly perFailingEndpoint: number
  /** How many deliveries this worker holds, by endpoint. */
  readonly inFlight: ReadonlyMap<string, number>
  /** Endpoints that this worker found slow: limited as failing ones. */
  readonly slow: ReadonlySet<string>
  /** Where the last claim stopped. */
  readonly position: EndpointPosition
}

/** Endpoints that one claim looks at. Further ones are looked at by the next claim. */
const scannedMax = 1_000
/** Deliveries that become due in one claim. */
const scheduledMax = 500

/** Lets claims find deliveries whose time has come. */
const updateScheduledDue = async (tx: Tx): Promise<void> => {
  await sql`
    update webhook_deliveries set scheduled = false where ctid = any(array(
      select ctid from webhook_deliveries where state = 'pending' and scheduled and due_at <= pohf_now()
      order by due_at limit ${scheduledMax} for update skip locked))`.execute(tx)
}

type ReadyEndpoint = {
  readonly agent_id: string
  readonly endpoint_id: string
  readonly n: number
  readonly due: boolean
  readonly url: string
  readonly proven_at: Date | null
  readonly failing_since: Date | null
  readonly secret_sealed: string
  readonly previous_sealed: string | null
}

/**
 * Endpoints that have a due delivery and a closed circuit breaker, by id from a position on. Each endpoint takes one step
 * in the index of deliveries that are due, however many it has, so that a long queue of one costs the others nothing.
 */
const listReadyEndpoints = async (
  tx: Tx,
  after: EndpointPosition['scannedTo'],
): Promise<readonly ReadyEndpoint[]> => {
  const { rows } = await sql<ReadyEndpoint>`
    with recursive ready as (
      (select agent_id, endpoint_id, due_at, 1 as n from webhook_deliveries
       where state = 'pending' and not scheduled and (agent_id, endpoint_id) > (${after?.agentId ?? ''}, ${after?.endpointId ?? ''})
       order by agent_id, endpoint_id, due_at limit 1)
      union all
      select next.agent_id, next.endpoint_id, next.due_at, ready.n + 1
      from ready, lateral (
        select later.agent_id, later.endpoint_id, later.due_at from webhook_deliveries later
        where later.state = 'pending' and not later.scheduled
          and (later.agent_id, later.endpoint_id) > (ready.agent_id, ready.endpoint_id)
        order by later.agent_id, later.endpoint_id, later.due_at limit 1) next
      where ready.n < ${scannedMax}::int)
    select ready.agent_id, ready.endpoint_id, ready.n, endpoint.url, endpoint.proven_at, endpoint.failing_since,
      endpoint.secret_sealed, ${previousSecret('endpoint')} as previous_sealed,
      endpoint.url is not null and ready.due_at <= pohf_now()
        and coalesce(endpoint.open_until <= pohf_now(), true) as due
    from ready left join lateral (
      select url, proven_at, failing_since, secret_sealed, previous_sealed, previous_until, open_until
      from webhook_endpoints
      where webhook_endpoints.agent_id = ready.agent_id and webhook_endpoints.endpoint_id = ready.endpoint_id
        and state = 'enabled'
      limit 1) endpoint on true
    where ready.due_at <= pohf_now() or ready.n = ${scannedMax}::int
    order by ready.n`.execute(tx)
  return rows
}

/** How many more deliveries this worker may hold for an endpoint. */
const roomOf = (limits: ClaimLimits, endpoint: ReadyEndpoint): number => {
  const isHealthy = endpoint.failing_since === null && endpoint.proven_at !== null
  const max =
    isHealthy && !limits.slow.has(endpoint.endpoint_id) ? limits.perEndpoint : limits.perFailingEndpoint
  return max - (limits.inFlight.get(endpoint.endpoint_id) ?? 0)
}

/**
 * Claims the oldest due deliveries of each endpoint, as many as the limit allows. The update goes by the physical place of the
 * rows that were locked: a join by key would scan the table where statistics are out of date. A row that changed meanwhile is
 * left for the next claim. No indexed column changes, so that the new version stays on its page and no index is written.
 */
const updateDueClaimed = async (
  tx: Tx,
  endpoints: readonly EndpointCapacity[],
  { limit, leaseSeconds }: ClaimLimits,
): Promise<ClaimedRow[]> => {
  const { rows } = await sql<ClaimedRow>`
    update webhook_deliveries delivery
    set lease_until = pohf_now() + make_interval(secs => ${leaseSeconds}), attempts = attempts + 1
    where ctid = any(array(
      select found.place
      from unnest(${endpoints.map((one) => one.agentId)}::text[], ${endpoints.map((one) => one.endpointId)}::text[],
        ${endpoints.map((one) => one.slots)}::int[]) given(agent_id, endpoint_id, slots),
      lateral (
        select due.ctid as place from webhook_deliveries due
        where due.agent_id = given.agent_id and due.endpoint_id = given.endpoint_id and due.state = 'pending'
          and not due.scheduled and due.due_at <= pohf_now() and coalesce(due.lease_until <= pohf_now(), true)
        order by due.due_at, due.event_id limit given.slots for update skip locked) found
      limit ${limit}))
    returning agent_id, mode, delivery_id, endpoint_id, event_id, body, kind, attempts, attempts_before, replays, trace,
      (extract(epoch from pohf_now() - published_at) * 1000)::float8 as waited_ms`.execute(tx)
  return rows
}

type Claim = { readonly claimed: readonly ClaimedDelivery[]; readonly position: EndpointPosition }

/** Claims due deliveries: as many as there are free slots, a few of each endpoint, the endpoints in turn. */
export const claimDeliveries = async (tx: Tx, limits: ClaimLimits): Promise<Claim> => {
  await updateScheduledDue(tx)
  const scanned = await listReadyEndpoints(tx, limits.position.scannedTo)
  const ready = scanned.filter(({ due }) => due)
  const inTurn = orderInTurn(
    ready.map((one) => ({ agentId: one.agent_id, endpointId: one.endpoint_id, slots: roomOf(limits, one) })),
    limits.position.grantedTo,
  )
  const last = scanned.at(-1)
  const scannedTo =
    last?.n === scannedMax ? { agentId: last.agent_id, endpointId: last.endpoint_id } : undefined
  const rows = inTurn.length === 0 ? [] : await updateDueClaimed(tx, inTurn, limits)
  if (rows.length === 0) return { claimed: [], position: { ...limits.position, scannedTo } }
  const endpoints = new Map(ready.map((one) => [`${one.agent_id} ${one.endpoint_id}`, one]))
  const served = new Set(rows.map((row) => `${row.agent_id} ${row.endpoint_id}`))
  const grantedTo = inTurn.findLast((one) => served.has(`${one.agentId} ${one.endpointId}`))
  const carried = Map.groupBy(await listCarried(tx, rows), (one) => `${one.agent_id} ${one.sent_with}`)
  // An update returns its rows in any order. Sorted by id, which holds the time, fewer deliveries overtake each other.
  const claimed = rows
    .toSorted((a, b) => (a.event_id < b.event_id ? -1 : 1))
    .flatMap((row) => {
      const target = endpoints.get(`${row.agent_id} ${row.endpoint_id}`)
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
        firstWait: firstWaitOf(row, target, performance.now()),
        trace: row.trace,
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
  return { claimed, position: { scannedTo, grantedTo } }
}

/**
 * The claims that still hold, locked one by one in the order of their keys. Each key has a lateral look-up of its own:
 * the statistics of a queue are always out of date, and with a plain join PostgreSQL scans the whole queue for every
 * key: 100 keys among 1,600 took 270 ms, and take 1 to 3 ms like this. The condition on settled_at means pending, and
 * matches no partial index.
 */
export const lockHeldClaims = (claims: readonly ClaimedDelivery[]) => {
  const inOrder = claims.toSorted((a, b) =>
    `${a.agentId} ${a.deliveryId}` < `${b.agentId} ${b.deliveryId}` ? -1 : 1,
  )
  return sql`
    select found.agent_id, found.delivery_id
    from unnest(${inOrder.map((one) => one.agentId)}::text[], ${inOrder.map((one) => one.deliveryId)}::text[],
      ${inOrder.map((one) => one.attempt)}::int[]) given(agent_id, delivery_id, attempt),
    lateral (
      select held.agent_id, held.delivery_id from webhook_deliveries held
      where held.agent_id = given.agent_id and held.delivery_id = given.delivery_id
        and held.attempts = given.attempt and held.settled_at is null
      limit 1 for update) found`
}

/** Returns unused claims. They are still due, and keep their position in the retry schedule. */
export const updateClaimsReturned = async (tx: Tx, claims: readonly ClaimedDelivery[]): Promise<void> => {
  await sql`
    update webhook_deliveries delivery set lease_until = null, attempts_before = attempts_before + 1
    from (${lockHeldClaims(claims)}) held
    where delivery.agent_id = held.agent_id and delivery.delivery_id = held.delivery_id`.execute(tx)
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
