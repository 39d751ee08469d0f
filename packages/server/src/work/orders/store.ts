import { sql, type Selectable } from 'kysely'
import type { Mode } from '@pohf/protocol'
import type { OrderTerms } from '../../platform/db/columns.ts'
import { now, type Tx } from '../../platform/db/db.ts'
import type { DB } from '../../platform/db/schema.ts'
import type { AgentId } from '../../platform/ops/ids.ts'
import { unfundedOrderDays, type OrderState, type Price } from '../rules.ts'

export type OrderKey = { readonly agentId: string; readonly mode: Mode; readonly orderId: string }
type NewOrder = Price & {
  readonly taskType: string
  readonly workflowId: string | undefined
  readonly quantity: number
  readonly capUsdCents: bigint | undefined
  readonly items: readonly unknown[] | undefined
  readonly instructions: string | undefined
  readonly callbackRef: string | undefined
  readonly terms: OrderTerms | undefined
  readonly purpose: Selectable<DB['orders']>['purpose']
  /** An operator reviews it once it is paid. */
  readonly needsReview: boolean
}
/** Stores a new order and returns when it expires unfunded. */
export const insertOrder = async (tx: Tx, key: OrderKey, order: NewOrder): Promise<Date> => {
  const row = await tx
    .insertInto('orders')
    .values({
      agent_id: key.agentId,
      mode: key.mode,
      order_id: key.orderId,
      task_type: order.taskType,
      workflow_id: order.workflowId ?? null,
      offer: order.offer,
      quantity: order.quantity,
      total_usd_cents: order.totalUsdCents,
      max_price_usd_cents: order.capUsdCents ?? null,
      items: order.items ? JSON.stringify(order.items) : null,
      instructions: order.instructions ?? null,
      callback_ref: order.callbackRef ?? null,
      terms: order.terms ? JSON.stringify(order.terms) : null,
      purpose: order.purpose,
      review_cause: order.needsReview ? 'new_buyer' : null,
      expires_at: sql<Date>`pohf_now() + make_interval(days => ${unfundedOrderDays})`,
    })
    .returning('expires_at')
    .executeTakeFirstOrThrow()
  return row.expires_at
}

const columns = [
  'agent_id',
  'mode',
  'order_id',
  'status',
  'task_type',
  'workflow_id',
  'offer',
  'accepted_at',
  'quantity',
  'total_usd_cents',
  'instructions',
  'callback_ref',
  'created_at',
  'expires_at',
  'funded_at',
  'checkout_id',
  'checkout_url',
  'checkout_expires_at',
  'purchase_id',
  'terms',
  'purpose',
  'review_cause',
  'review_since',
  'held',
  'review_decision',
  'review_reason',
  'reviewed_at',
] as const
/** Items are read one by one elsewhere: an order may have 256 KB of them. */
const selectOrders = (tx: Tx) =>
  tx
    .selectFrom('orders')
    .select(columns)
    .select([
      sql<boolean>`expires_at <= pohf_now()`.as('is_over'),
      sql<number>`coalesce(jsonb_array_length(items), 0)`.as('item_count'),
    ])
type Row = Awaited<ReturnType<ReturnType<typeof selectOrders>['executeTakeFirstOrThrow']>>

const orderOf = (row: Row) => ({
  agentId: row.agent_id as AgentId,
  mode: row.mode,
  orderId: row.order_id,
  status: row.status,
  taskType: row.task_type,
  workflowId: row.workflow_id,
  offer: row.offer,
  waitsForOperator: row.offer && row.accepted_at === null && ['created', 'funded'].includes(row.status),
  quantity: row.quantity,
  totalUsdCents: row.total_usd_cents,
  instructions: row.instructions,
  callbackRef: row.callback_ref,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
  fundedAt: row.funded_at,
  /** The purchase over HTTP 402 that paid the order; null where a card, the sandbox or the operator did. */
  purchaseId: row.purchase_id,
  terms: row.terms,
  purpose: row.purpose,
  itemCount: row.item_count,
  /** Nobody can claim a unit of it until an operator has decided. */
  isHeld: row.held,
  /** Null where it is not reviewed and never was. */
  review:
    row.review_cause === null
      ? null
      : {
          cause: row.review_cause,
          since: row.review_since,
          decision: row.review_decision,
          reason: row.review_reason,
          decidedAt: row.reviewed_at,
        },
  isExpired: row.is_over,
  checkout:
    row.checkout_id !== null && row.checkout_url !== null && row.checkout_expires_at !== null
      ? {
          checkoutId: row.checkout_id,
          checkoutUrl: row.checkout_url,
          expiresAt: row.checkout_expires_at,
        }
      : undefined,
})
export type Order = ReturnType<typeof orderOf>

const orderQuery = (tx: Tx, key: OrderKey) =>
  selectOrders(tx)
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('order_id', '=', key.orderId)

export const findOrder = async (tx: Tx, key: OrderKey): Promise<Order | undefined> => {
  const row = await orderQuery(tx, key).executeTakeFirst()
  return row && orderOf(row)
}

/** Locks the order: changes of an order and its units are serialized. */
export const findOrderForUpdate = async (tx: Tx, key: OrderKey): Promise<Order | undefined> => {
  const row = await orderQuery(tx, key).forUpdate().executeTakeFirst()
  return row && orderOf(row)
}

type OrderPage = {
  readonly agentId: string
  readonly mode: Mode
  readonly status: OrderState | undefined
  readonly after: string | undefined
  readonly limit: number
}
/** Newest first: ids begin with their time. */
export const listOrders = async (tx: Tx, page: OrderPage): Promise<Order[]> => {
  let query = selectOrders(tx).where('agent_id', '=', page.agentId).where('mode', '=', page.mode)
  if (page.status !== undefined) query = query.where('status', '=', page.status)
  if (page.after !== undefined) query = query.where('order_id', '<', page.after)
  return (await query.orderBy('order_id', 'desc').limit(page.limit).execute()).map(orderOf)
}

/** Orders of all agents, for operators, newest first, without known-answer items. */
export const listAllOrders = async (
  tx: Tx,
  page: { readonly waiting: boolean; readonly after: string | undefined; readonly limit: number },
): Promise<Order[]> => {
  let query = selectOrders(tx).where('purpose', '<>', 'gold')
  if (page.waiting)
    query = query
      .where('offer', '=', true)
      .where('accepted_at', 'is', null)
      .where('status', 'in', ['created', 'funded'])
  if (page.after !== undefined) query = query.where('order_id', '<', page.after)
  return (await query.orderBy('order_id', 'desc').limit(page.limit).execute()).map(orderOf)
}

/** How many offers wait for an operator; the count stops at `max`. */
export const countWaitingOffers = async (tx: Tx, max: number): Promise<number> => {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from (
      select from orders where offer and accepted_at is null and status in ('created', 'funded')
        and purpose <> 'gold' limit ${max}) first`.execute(tx)
  return rows[0]?.count ?? 0
}

const orderUpdate = (tx: Tx, key: OrderKey) =>
  tx
    .updateTable('orders')
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('order_id', '=', key.orderId)

export const updateOrderCheckout = async (
  tx: Tx,
  key: OrderKey,
  checkout: { readonly checkoutId: string; readonly checkoutUrl: string; readonly expiresAt: Date },
): Promise<void> => {
  await orderUpdate(tx, key)
    .set({
      checkout_id: checkout.checkoutId,
      checkout_url: checkout.checkoutUrl,
      checkout_expires_at: checkout.expiresAt,
    })
    .execute()
}

/** Names the purchase that pays a created order, in the transaction that funds it. */
export const updateOrderFundedBy = async (tx: Tx, key: OrderKey, purchaseId: string): Promise<void> => {
  await orderUpdate(tx, key).set({ purchase_id: purchaseId, funded_at: now() }).execute()
}

/**
 * Changes the status of an order; the database refuses transitions that do not exist. An order that has ended waits for no
 * review any more, unless workers reported it: a buyer who cancels escapes no decision.
 */
export const updateOrderStatus = async (tx: Tx, key: OrderKey, status: OrderState): Promise<void> => {
  const hasEnded = status === 'cancelled' || status === 'expired'
  await orderUpdate(tx, key)
    .set({
      status,
      ...(status === 'funded' ? { funded_at: now() } : {}),
      ...(hasEnded
        ? {
            review_since: sql<Date | null>`case when review_cause = 'reports' then review_since end`,
            held: sql<boolean>`held and review_cause = 'reports'`,
          }
        : {}),
    })
    .execute()
}

/** Marks an order as in progress; true for the first claim of a unit. */
export const updateOrderStarted = async (tx: Tx, key: OrderKey): Promise<boolean> => {
  const { numUpdatedRows } = await orderUpdate(tx, key)
    .set({ status: 'in_progress' })
    .where('status', '=', 'funded')
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

export const updateOrderTerms = async (tx: Tx, key: OrderKey, terms: OrderTerms): Promise<void> => {
  await orderUpdate(tx, key)
    .set({ terms: JSON.stringify(terms) })
    .execute()
}
export const updateOrderAccepted = async (tx: Tx, key: OrderKey, terms: OrderTerms): Promise<void> => {
  await orderUpdate(tx, key)
    .set({ terms: JSON.stringify(terms), accepted_at: now() })
    .execute()
}
export const updateOrderDeclined = async (tx: Tx, key: OrderKey, reason: string): Promise<void> => {
  await orderUpdate(tx, key).set({ decline_reason: reason }).execute()
}

/** The buyer's items at these indexes. */
export const listItems = async (
  tx: Tx,
  key: OrderKey,
  indexes: readonly number[],
): Promise<ReadonlyMap<number, unknown>> => {
  if (indexes.length === 0) return new Map()
  const { rows } = await sql<{ place: number; item: unknown }>`
    select place, orders.items -> place as item from orders, unnest(${[...new Set(indexes)]}::int[]) place
    where agent_id = ${key.agentId} and mode = ${key.mode} and order_id = ${key.orderId}`.execute(tx)
  return new Map(rows.map(({ place, item }) => [place, item]))
}

/** A batch of orders that nobody paid for in time. Locked orders are skipped until the next run. */
export const listExpiredUnfunded = async (tx: Tx, limit: number): Promise<OrderKey[]> => {
  const { rows } = await sql<Pick<Selectable<DB['orders']>, 'agent_id' | 'mode' | 'order_id'>>`
    select agent_id, mode, order_id from orders where status = 'created' and expires_at <= pohf_now()
    order by expires_at limit ${limit} for update skip locked`.execute(tx)
  return rows.map((row) => ({ agentId: row.agent_id, mode: row.mode, orderId: row.order_id }))
}

export type OrderEscrow = OrderKey & { readonly usdCents: bigint }
/** Orders with a unit created or ended within this time, at most `rowsMax`, with the price of their units that have not ended. */
export const listChangedOrders = async (
  tx: Tx,
  span: { readonly from: Date; readonly to: Date; readonly rowsMax: number },
): Promise<OrderEscrow[]> => {
  const { rows } = await sql<OrderEscrow>`
    select agent_id as "agentId", mode, order_id as "orderId",
      coalesce(sum(price_usd_cents) filter (where ended_at is null and not house_pays), 0)::bigint as "usdCents"
    from order_units where (agent_id, mode, order_id) in (
      select agent_id, mode, order_id from order_units where created_at >= ${span.from} and created_at < ${span.to}
      union
      select agent_id, mode, order_id from order_units where ended_at >= ${span.from} and ended_at < ${span.to}
      limit ${span.rowsMax})
    group by agent_id, mode, order_id`.execute(tx)
  return rows
}
/** The price of an order's units that have not ended. */
export const sumEscrow = async (tx: Tx, key: OrderKey): Promise<bigint> => {
  const row = await tx
    .selectFrom('order_units')
    .select(sql<bigint>`coalesce(sum(price_usd_cents), 0)::bigint`.as('held'))
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('order_id', '=', key.orderId)
    .where('ended_at', 'is', null)
    .where('house_pays', '=', false)
    .executeTakeFirstOrThrow()
  return row.held
}
