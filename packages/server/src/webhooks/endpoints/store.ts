import type { SealedColumn } from '../../platform/db/sealed.ts'
import { sql } from 'kysely'
import type { Mode } from '@pohf/protocol'
import { now, type Tx } from '../../platform/db/db.ts'
import { endpointsMax, storedEndpointsMax } from '../rules.ts'
import { splitSharedRequests, leaveSharedRequests, updateRequestsShared } from '../delivery/shared/store.ts'

export type EndpointKey = { readonly agentId: string; readonly endpointId: string }
export type EndpointOwner = { readonly agentId: string; readonly mode: Mode }

const missingEndpoint = (operation: string, { agentId, endpointId }: EndpointKey) =>
  new Error(`webhook endpoint ${endpointId} of agent ${agentId} not found while ${operation}`)

type EndpointCounts = { readonly enabled: number; readonly stored: number }

/** Counts under a lock of this agent, so that parallel registrations cannot pass a limit together. */
export const countEndpoints = async (tx: Tx, agentId: string): Promise<EndpointCounts> => {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`webhook_endpoints ${agentId}`}, 0))`.execute(tx)
  return tx
    .selectFrom('webhook_endpoints')
    .select([
      sql<number>`(count(*) filter (where state = 'enabled'))::int`.as('enabled'),
      sql<number>`count(*)::int`.as('stored'),
    ])
    .where('agent_id', '=', agentId)
    .where('state', '<>', 'deleted')
    .executeTakeFirstOrThrow()
}

/** When a URL first answered 2xx to this agent; null where it has not. */
const provenSince = (agentId: string, url: string) =>
  sql<Date | null>`(
    select min(known.proven_at) from webhook_endpoints known
    where known.agent_id = ${agentId} and known.url = ${url} and known.state = 'enabled')`

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
      proven_at: provenSince(endpoint.agentId, endpoint.url),
    })
    .execute()
}

/** The enabled endpoints of an agent, locked until the commit. */
export const listEnabledLocked = async (tx: Tx, { agentId, mode }: EndpointOwner) =>
  tx
    .selectFrom('webhook_endpoints')
    .select('endpoint_id')
    .where('agent_id', '=', agentId)
    .where('mode', '=', mode)
    .where('state', '=', 'enabled')
    .orderBy('endpoint_id')
    .forUpdate()
    .execute()

/** The URLs that events of an agent are sent to, newest first. */
export const listEnabledUrls = async (tx: Tx, { agentId, mode }: EndpointOwner): Promise<string[]> => {
  const rows = await tx
    .selectFrom('webhook_endpoints')
    .select('url')
    .where('agent_id', '=', agentId)
    .where('mode', '=', mode)
    .where('state', '=', 'enabled')
    .orderBy('endpoint_id', 'desc')
    .limit(endpointsMax)
    .execute()
  return rows.map((row) => row.url)
}

const endpointColumns = [
  'agent_id',
  'endpoint_id',
  'url',
  'events',
  'state',
  'created_at',
  'failing_since',
  'disabled_at',
  'disabled_reason',
  'recover_since',
] as const
export type EndpointRow = NonNullable<Awaited<ReturnType<typeof findEndpoint>>>

const selectEndpoints = (tx: Tx, owner: EndpointOwner) =>
  tx
    .selectFrom('webhook_endpoints')
    .select(endpointColumns)
    .select([
      sql<Date | null>`case when previous_until > pohf_now() then previous_until end`.as('previous_until'),
      // Counted up to 1,000: an endpoint that is down for days may have very many.
      sql<number>`(select count(*)::int from (
        select from webhook_deliveries delivery
        where delivery.agent_id = webhook_endpoints.agent_id and delivery.endpoint_id = webhook_endpoints.endpoint_id
          and delivery.state = 'pending' limit 1000) waiting)`.as('waiting'),
    ])
    .where('agent_id', '=', owner.agentId)
    .where('mode', '=', owner.mode)
    .where('state', '<>', 'deleted')

export const listEndpoints = async (tx: Tx, owner: EndpointOwner) =>
  selectEndpoints(tx, owner).orderBy('endpoint_id', 'desc').limit(storedEndpointsMax).execute()

export const findEndpoint = async (tx: Tx, owner: EndpointOwner, endpointId: string) =>
  selectEndpoints(tx, owner).where('endpoint_id', '=', endpointId).executeTakeFirst()

/** Locks an endpoint of this owner until the commit; undefined where there is none. */
export const findEndpointLocked = async (tx: Tx, owner: EndpointOwner, endpointId: string) =>
  tx
    .selectFrom('webhook_endpoints')
    .select(['state', 'url', 'secret_sealed'])
    .select(
      sql<Date | null>`case when previous_until > pohf_now() then previous_until end`.as('previous_until'),
    )
    .where('agent_id', '=', owner.agentId)
    .where('mode', '=', owner.mode)
    .where('endpoint_id', '=', endpointId)
    .where('state', '<>', 'deleted')
    .forUpdate()
    .executeTakeFirst()

export const listHealth = async (tx: Tx, agentId: string, endpointIds: readonly string[]) =>
  endpointIds.length === 0
    ? []
    : tx
        .selectFrom('webhook_health')
        .select(['endpoint_id', 'hour', 'delivered', 'failed', 'duration_ms'])
        .where('agent_id', '=', agentId)
        .where('endpoint_id', 'in', endpointIds)
        .where('hour', '>', sql<Date>`pohf_now() - interval '24 hours'`)
        .orderBy('hour')
        .execute()

/** The failure state of an endpoint without failures. */
const healthyState = {
  failing_since: null,
  failures: 0,
  last_failure_at: null,
  open_until: null,
  notices: 0,
  watch_at: null,
} as const

export const updateEndpoint = async (
  tx: Tx,
  endpoint: EndpointKey,
  change: { readonly url?: string; readonly events?: string[] },
): Promise<void> => {
  if (change.url === undefined && change.events === undefined) return
  if (change.url !== undefined) await splitSharedRequests(tx, endpoint)
  await tx
    .updateTable('webhook_endpoints')
    // A new URL has not failed yet.
    .set({
      ...change,
      ...(change.url === undefined
        ? {}
        : { ...healthyState, proven_at: provenSince(endpoint.agentId, change.url) }),
    })
    .where('agent_id', '=', endpoint.agentId)
    .where('endpoint_id', '=', endpoint.endpointId)
    .execute()
  if (change.url === undefined) return
  await leaveSharedRequests(tx, endpoint)
  await updateRequestsShared(tx, endpoint)
}

export const updateEndpointEnabled = async (tx: Tx, endpoint: EndpointKey): Promise<void> => {
  await tx
    .updateTable('webhook_endpoints')
    .set({ state: 'enabled', disabled_at: null, disabled_reason: null, ...healthyState })
    .where('agent_id', '=', endpoint.agentId)
    .where('endpoint_id', '=', endpoint.endpointId)
    .execute()
}

/** Marks the pending deliveries of an endpoint as dead; a recovery requeues them. */
const updatePendingDead = async (tx: Tx, endpoint: EndpointKey): Promise<void> => {
  await splitSharedRequests(tx, endpoint)
  await tx
    .updateTable('webhook_deliveries')
    .set({ state: 'dead', settled_at: now() })
    .where('agent_id', '=', endpoint.agentId)
    .where('endpoint_id', '=', endpoint.endpointId)
    .where('state', '=', 'pending')
    .execute()
}

/** Disables an endpoint and marks its pending deliveries as dead. */
export const updateEndpointDisabled = async (
  tx: Tx,
  endpoint: EndpointKey,
  reason: 'gone' | 'failing' | 'owner',
): Promise<void> => {
  await tx
    .updateTable('webhook_endpoints')
    .set({
      state: 'disabled',
      disabled_at: now(),
      disabled_reason: reason,
      open_until: null,
      watch_at: null,
      recover_since: null,
      recover_at: null,
      recover_event_id: null,
    })
    .where('agent_id', '=', endpoint.agentId)
    .where('endpoint_id', '=', endpoint.endpointId)
    .execute()
  await updatePendingDead(tx, endpoint)
}

/** Deletes an endpoint: its URL and secrets at once, its rows by the retention job. */
export const updateEndpointDeleted = async (tx: Tx, endpoint: EndpointKey): Promise<void> => {
  await tx
    .updateTable('webhook_endpoints')
    .set({
      state: 'deleted',
      url: '',
      secret_sealed: '',
      previous_sealed: null,
      previous_until: null,
      ...healthyState,
      recover_since: null,
      recover_at: null,
      recover_event_id: null,
    })
    .where('agent_id', '=', endpoint.agentId)
    .where('endpoint_id', '=', endpoint.endpointId)
    .execute()
  await updatePendingDead(tx, endpoint)
}

/** Stores a new secret; the old one also signs for `overlapSeconds`, if any. */
export const updateSecret = async (
  tx: Tx,
  endpoint: EndpointKey,
  secret: { readonly sealed: string; readonly previousSealed: string; readonly overlapSeconds: number },
): Promise<Date | null> => {
  const hasOverlap = secret.overlapSeconds > 0
  const row = await tx
    .updateTable('webhook_endpoints')
    .set({
      secret_sealed: secret.sealed,
      previous_sealed: hasOverlap ? secret.previousSealed : null,
      previous_until: hasOverlap
        ? sql<Date>`pohf_now() + make_interval(secs => ${secret.overlapSeconds})`
        : null,
    })
    .where('agent_id', '=', endpoint.agentId)
    .where('endpoint_id', '=', endpoint.endpointId)
    .returning('previous_until')
    .executeTakeFirstOrThrow(() => missingEndpoint('rotating its secret', endpoint))
  return row.previous_until
}

/** Counts a failure of an enabled endpoint; returns since when and how often it has failed. Locks it until the commit. */
export const updateEndpointFailing = async (
  tx: Tx,
  endpoint: EndpointKey,
  watchMs: number,
): Promise<{ failingSince: Date; failures: number } | undefined> => {
  const row = await tx
    .updateTable('webhook_endpoints')
    .set({
      failing_since: sql<Date>`coalesce(failing_since, pohf_now())`,
      failures: sql<number>`failures + 1`,
      last_failure_at: now(),
      watch_at: sql<Date>`coalesce(watch_at, pohf_now() + make_interval(secs => ${watchMs / 1_000}))`,
    })
    .where('agent_id', '=', endpoint.agentId)
    .where('endpoint_id', '=', endpoint.endpointId)
    .where('state', '=', 'enabled')
    .returning(['failing_since', 'failures'])
    .executeTakeFirst()
  return row?.failing_since ? { failingSince: row.failing_since, failures: row.failures } : undefined
}

/** Opens the circuit breaker of an endpoint for this time; a later end that is already set stays. */
export const updateEndpointCircuitOpen = async (
  tx: Tx,
  endpoint: EndpointKey,
  openMs: number,
): Promise<void> => {
  await tx
    .updateTable('webhook_endpoints')
    .set({
      open_until: sql<Date>`greatest(open_until, pohf_now() + make_interval(secs => ${openMs / 1_000}))`,
    })
    .where('agent_id', '=', endpoint.agentId)
    .where('endpoint_id', '=', endpoint.endpointId)
    .execute()
}

/** Failing endpoints whose monitoring is due, locked until the commit. */
export const listEndpointsToMonitor = async (tx: Tx, limit: number) =>
  tx
    .selectFrom('webhook_endpoints')
    .select(['agent_id', 'mode', 'endpoint_id', 'url', 'failing_since', 'last_failure_at', 'notices'])
    .where('watch_at', '<=', now())
    .where('state', '=', 'enabled')
    .orderBy('watch_at')
    .limit(limit)
    .forUpdate()
    .skipLocked()
    .execute()

export const updateMonitoring = async (
  tx: Tx,
  endpoint: EndpointKey,
  watch: { readonly notices: number; readonly nextAt: Date | null },
): Promise<void> => {
  await tx
    .updateTable('webhook_endpoints')
    .set({ notices: watch.notices, watch_at: watch.nextAt })
    .where('agent_id', '=', endpoint.agentId)
    .where('endpoint_id', '=', endpoint.endpointId)
    .execute()
}

/** Starts a recovery, or moves a running one further back. */
export const updateRecoveryStarted = async (tx: Tx, endpoint: EndpointKey, since: Date): Promise<Date> => {
  const row = await tx
    .updateTable('webhook_endpoints')
    .set({
      recover_since: sql<Date>`least(recover_since, ${since})`,
      recover_at: sql<Date>`least(recover_since, ${since})`,
      recover_event_id: '',
    })
    .where('agent_id', '=', endpoint.agentId)
    .where('endpoint_id', '=', endpoint.endpointId)
    .returning('recover_since')
    .executeTakeFirstOrThrow(() => missingEndpoint('starting its recovery', endpoint))
  if (!row.recover_since)
    throw new Error(
      `webhook endpoint ${endpoint.endpointId} of agent ${endpoint.agentId} has no recover_since after its recovery was started`,
    )
  return row.recover_since
}

/** One endpoint that is being recovered, locked until the commit. */
export const findRecovering = async (tx: Tx) =>
  tx
    .selectFrom('webhook_endpoints')
    .select(['agent_id', 'mode', 'endpoint_id', 'events', 'recover_since', 'recover_event_id'])
    .select(
      sql<string>`to_char(recover_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`.as('recover_at'),
    )
    .where('recover_since', 'is not', null)
    .where('state', '=', 'enabled')
    .orderBy('recover_since')
    .limit(1)
    .forUpdate()
    .skipLocked()
    .executeTakeFirst()

/** Stores the position of a recovery; null where it has reached the end. */
export const updateRecoveryProgress = async (
  tx: Tx,
  endpoint: EndpointKey,
  position: { readonly at: string; readonly eventId: string } | null,
): Promise<void> => {
  await tx
    .updateTable('webhook_endpoints')
    .set(
      position
        ? { recover_at: sql<Date>`${position.at}::timestamptz`, recover_event_id: position.eventId }
        : { recover_since: null, recover_at: null, recover_event_id: null },
    )
    .where('agent_id', '=', endpoint.agentId)
    .where('endpoint_id', '=', endpoint.endpointId)
    .execute()
}

/** Agents with an enabled endpoint for events of this type, in the order of their ids, after an id. */
export const listSubscribers = async (
  tx: Tx,
  type: string,
  page: { readonly after: string; readonly limit: number },
): Promise<EndpointOwner[]> => {
  const { rows } = await sql<EndpointOwner>`
    select distinct on (agent_id) agent_id as "agentId", mode from webhook_endpoints
    where agent_id > ${page.after} and state = 'enabled' and events && array['*', ${type}]::text[]
    order by agent_id limit ${page.limit}`.execute(tx)
  return rows
}

const ofEndpoints = {
  purpose: 'webhook',
  table: 'webhook_endpoints',
  key: [
    ['agent_id', 'text'],
    ['endpoint_id', 'text'],
  ],
} as const
export const sealedColumns: readonly SealedColumn[] = [
  { ...ofEndpoints, column: 'secret_sealed' },
  { ...ofEndpoints, column: 'previous_sealed' },
]
