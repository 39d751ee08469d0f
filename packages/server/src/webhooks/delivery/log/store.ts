import { sql, type Selectable } from 'kysely'
import type { WebhookDelivery } from '@pohf/protocol'
import { now, type Tenant, type Tx } from '../../../platform/db/db.ts'
import type { DB } from '../../../platform/db/schema.ts'
import type { EndpointOwner } from '../../endpoints/store.ts'

const deliveryColumns = [
  'delivery_id',
  'endpoint_id',
  'event_id',
  'state',
  'created_at',
  'settled_at',
  'attempts',
] as const

/** Deliveries of an endpoint, newest event first, before a position. */
export const listDeliveries = async (
  tx: Tx,
  owner: EndpointOwner,
  page: {
    readonly endpointId: string
    readonly state: WebhookDelivery['state'] | undefined
    readonly before: string | undefined
    readonly limit: number
  },
) => {
  const { state, before } = page
  const ofEndpoint = tx
    .selectFrom('webhook_deliveries')
    .select(deliveryColumns)
    .select(sql<string>`body::json ->> 'type'`.as('type'))
    // A delivery that is sent with another one is due when that one is.
    .select(
      sql<Date>`coalesce((
        select sent.due_at from webhook_deliveries sent
        where sent.agent_id = webhook_deliveries.agent_id and sent.delivery_id = webhook_deliveries.sent_with
          and sent.state = 'pending'), due_at)`.as('due_at'),
    )
    .where('agent_id', '=', owner.agentId)
    .where('mode', '=', owner.mode)
    .where('endpoint_id', '=', page.endpointId)
  return (state === undefined ? ofEndpoint : ofEndpoint.where('state', '=', state))
    .$if(before !== undefined, (query) => query.where('event_id', '<', before ?? ''))
    .orderBy('event_id', 'desc')
    .limit(page.limit)
    .execute()
}

type AttemptRow = Pick<
  Selectable<DB['webhook_attempts']>,
  'delivery_id' | 'attempt' | 'at' | 'outcome' | 'status' | 'fault' | 'duration_ms'
>

/** An attempt is later than its delivery, so older partitions are skipped; a clock that was set back is tolerated. */
const clockTolerance = sql`interval '1 day'`

/** The latest attempts of deliveries: at most 20 of each, since replays add attempts without limit. */
export const listAttempts = async (
  tx: Tx,
  agentId: string,
  deliveries: readonly { readonly delivery_id: string; readonly created_at: Date }[],
) => {
  const { rows } = await sql<AttemptRow>`
    select delivery_id, attempt, at, outcome, status, fault, duration_ms
    from unnest(${deliveries.map((one) => one.delivery_id)}::text[], ${deliveries.map((one) => one.created_at)}::timestamptz[])
      requested(delivery_id, created_at), lateral (
      select attempt, at, outcome, status, fault, duration_ms from webhook_attempts
      where agent_id = ${agentId} and webhook_attempts.delivery_id = requested.delivery_id
        and at > requested.created_at - ${clockTolerance}
      order by attempt desc, at desc limit 20) latest
    order by delivery_id, attempt, at`.execute(tx)
  return rows
}

/** A delivery of this owner, locked until the commit, with whether its last claim has been settled. */
export const findDeliveryLocked = async (tx: Tx, owner: EndpointOwner, deliveryId: string) => {
  const delivery = await tx
    .selectFrom('webhook_deliveries')
    .select(deliveryColumns)
    .where('agent_id', '=', owner.agentId)
    .where('mode', '=', owner.mode)
    .where('delivery_id', '=', deliveryId)
    .forUpdate()
    .executeTakeFirst()
  if (!delivery) return undefined
  const last = await tx
    .selectFrom('webhook_attempts')
    .select('attempt')
    .where('agent_id', '=', owner.agentId)
    .where('delivery_id', '=', deliveryId)
    .where('attempt', '=', delivery.attempts)
    .where('at', '>', sql<Date>`${delivery.created_at}::timestamptz - ${clockTolerance}`)
    .limit(1)
    .executeTakeFirst()
  return { ...delivery, inProgress: delivery.state === 'pending' && delivery.attempts > 0 && !last }
}

/** The endpoint of a delivery, without a lock: the endpoint must be locked before the delivery. */
export const findEndpointOfDelivery = async (
  tx: Tx,
  owner: EndpointOwner,
  deliveryId: string,
): Promise<string | undefined> => {
  const row = await tx
    .selectFrom('webhook_deliveries')
    .select('endpoint_id')
    .where('agent_id', '=', owner.agentId)
    .where('mode', '=', owner.mode)
    .where('delivery_id', '=', deliveryId)
    .executeTakeFirst()
  return row?.endpoint_id
}

/** Makes a delivery due now and restarts its retry schedule. */
export const updateDeliveryReplayed = async (tx: Tx, agentId: Tenant, deliveryId: string): Promise<void> => {
  await tx
    .updateTable('webhook_deliveries')
    .set({
      state: 'pending',
      settled_at: null,
      due_at: now(),
      scheduled: false,
      lease_until: null,
      replays: sql<number>`replays + 1`,
      attempts_before: sql<number>`attempts`,
      sent_with: null,
    })
    .where('agent_id', '=', agentId)
    .where('delivery_id', '=', deliveryId)
    .execute()
}

/** Erases the deliveries of erased events, sent or pending. The attempts log holds no body. */
export const eraseDeliveries = async (
  tx: Tx,
  agent: EndpointOwner,
  eventIds: readonly string[],
): Promise<void> => {
  // One look-up by the unique key for each endpoint and event.
  await sql`
    delete from webhook_deliveries delivery using (
      select found.agent_id, found.delivery_id
      from webhook_endpoints endpoint cross join unnest(${[...eventIds]}::text[]) event(event_id),
      lateral (
        select agent_id, delivery_id from webhook_deliveries known
        where known.agent_id = endpoint.agent_id and known.mode = endpoint.mode
          and known.endpoint_id = endpoint.endpoint_id and known.event_id = event.event_id
        limit 1 for update) found
      where endpoint.agent_id = ${agent.agentId} and endpoint.mode = ${agent.mode}) erased
    where delivery.agent_id = erased.agent_id and delivery.delivery_id = erased.delivery_id`.execute(tx)
}
