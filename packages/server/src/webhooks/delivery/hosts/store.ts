import { sql } from 'kysely'
import { now, type Tx } from '../../../platform/db/db.ts'
import type { HostLimit } from '../../rules.ts'

const windowMinutes = 10
/** How long a delivery waits while its host is busy. */
const hostBusyMs = 5_000

type HostClaim = HostLimit & { readonly holder: string; readonly seconds: number }

/** Claims a host for one attempt. Returns 0, or how long to wait: for the attempt under way, or until the window ends. */
export const claimHost = async (tx: Tx, claim: HostClaim): Promise<number> => {
  const { rows: claimed } = await sql`
    insert into webhook_hosts as known (host, holder, busy_until, window_ends_at)
    values (${claim.host}, ${claim.holder}, pohf_now() + make_interval(secs => ${claim.seconds}),
      pohf_now() + make_interval(mins => ${windowMinutes}))
    on conflict (host) do update set holder = excluded.holder, busy_until = excluded.busy_until,
      failures = case when known.window_ends_at > pohf_now() then known.failures else 0 end,
      window_ends_at = case when known.window_ends_at > pohf_now() then known.window_ends_at else excluded.window_ends_at end
    where coalesce(known.busy_until <= pohf_now(), true)
      and (known.window_ends_at <= pohf_now() or known.failures < ${claim.failuresMax})
    returning host`.execute(tx)
  if (claimed.length > 0) return 0
  const spent = await tx
    .selectFrom('webhook_hosts')
    .select(sql<number>`extract(epoch from window_ends_at - pohf_now())::float8 * 1000`.as('waitMs'))
    .where('host', '=', claim.host)
    .where('failures', '>=', claim.failuresMax)
    .where('window_ends_at', '>', now())
    .executeTakeFirst()
  return Math.max(spent?.waitMs ?? 0, hostBusyMs)
}

/** Frees hosts after an attempt, and counts it if it failed. */
export const updateHostsReleased = async (
  tx: Tx,
  hosts: readonly string[],
  attempt: { readonly holder: string; readonly failed: boolean },
): Promise<void> => {
  if (hosts.length === 0) return
  await tx
    .updateTable('webhook_hosts')
    .set({
      holder: null,
      busy_until: null,
      failures: sql<number>`failures + ${attempt.failed ? 1 : 0}`,
    })
    .where('host', 'in', hosts)
    .where('holder', '=', attempt.holder)
    .execute()
}

/** Deletes a batch of hosts whose window has ended, and returns how many. */
export const deleteIdleHosts = async (tx: Tx, limit: number): Promise<number> => {
  const { numAffectedRows } = await sql`
    delete from webhook_hosts where host in (
      select host from webhook_hosts where window_ends_at < pohf_now() and coalesce(busy_until < pohf_now(), true)
      order by window_ends_at limit ${limit} for update skip locked)`.execute(tx)
  return Number(numAffectedRows ?? 0n)
}

/** An agent has at most 50 enabled endpoints. */
const endpointsMax = 50

type Receiver = { readonly agentId: string; readonly url: string }

/** Records the first 2xx of receivers, for all endpoints of the agent on that URL. */
export const updateReceiversProven = async (tx: Tx, receivers: readonly Receiver[]): Promise<void> => {
  if (receivers.length === 0) return
  await sql`
    update webhook_endpoints endpoint set proven_at = pohf_now(), open_until = null
    from (
      select known.agent_id, known.endpoint_id
      from (
        select agent_id, array_agg(url) as urls from unnest(
          ${receivers.map((one) => one.agentId)}::text[], ${receivers.map((one) => one.url)}::text[]) listed(agent_id, url)
        group by agent_id order by agent_id) given,
      lateral (
        select agent_id, endpoint_id from webhook_endpoints
        where webhook_endpoints.agent_id = given.agent_id and url = any(given.urls) and proven_at is null
          and state = 'enabled'
        order by endpoint_id limit ${endpointsMax} for update) known) receiver
    where endpoint.agent_id = receiver.agent_id and endpoint.endpoint_id = receiver.endpoint_id`.execute(tx)
}

/** Sends nothing to an endpoint for this time, unless it has answered 2xx meanwhile. */
export const updateEndpointWaiting = async (
  tx: Tx,
  endpoint: { readonly agentId: string; readonly endpointId: string },
  waitMs: number,
): Promise<void> => {
  await tx
    .updateTable('webhook_endpoints')
    .set({
      open_until: sql<Date>`greatest(open_until, pohf_now() + make_interval(secs => ${waitMs / 1_000}))`,
    })
    .where('agent_id', '=', endpoint.agentId)
    .where('endpoint_id', '=', endpoint.endpointId)
    .where('proven_at', 'is', null)
    .where('state', '=', 'enabled')
    .execute()
}
