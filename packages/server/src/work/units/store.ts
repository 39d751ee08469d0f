import { sql, type Selectable } from 'kysely'
import type { Mode } from '@pohf/protocol'
import { now, type Tx } from '../../platform/db/db.ts'
import type { DB } from '../../platform/db/schema.ts'
import type { AgentId } from '../../platform/ops/ids.ts'
import type { OrderKey } from '../orders/store.ts'
import {
  appealHours,
  openDays,
  recentReviewDays,
  type RecentReviews,
  type RejectReason,
  type UnitState,
} from './rules.ts'

type NewUnits = {
  readonly quantity: number
  readonly totalUsdCents: bigint
  /** The number of items; units use them in turn. */
  readonly items: number
  readonly taskId: string | null
  /** Until when they can be claimed; undefined for the usual time. */
  readonly openUntil: Date | undefined
}
/** Splits an order into units. Prices are whole cents and sum to the total: the first units carry the remainder. */
export const insertUnits = async (tx: Tx, key: OrderKey, units: NewUnits): Promise<void> => {
  const { quantity, totalUsdCents: total, items, taskId, openUntil = null } = units
  await sql`
    insert into order_units (agent_id, mode, order_id, n, task_id, price_usd_cents, item, open_until)
    select ${key.agentId}, ${key.mode}, ${key.orderId}, n, ${taskId},
      ${total}::bigint / ${quantity}::int + case when n <= ${total}::bigint % ${quantity}::int then 1 else 0 end,
      case when ${items}::int > 0 then (n - 1) % ${items}::int end,
      least(pohf_now() + make_interval(days => ${openDays}), ${openUntil}::timestamptz)
    from generate_series(1, ${quantity}::int) n`.execute(tx)
}

/** Opens the units of an accepted offer or an approved order for claims; their period starts now. */
export const updateUnitsReady = async (
  tx: Tx,
  key: OrderKey,
  { taskId, openUntil = null }: { readonly taskId: string; readonly openUntil?: Date | null | undefined },
): Promise<void> => {
  await sql`
    update order_units set task_id = ${taskId},
      open_until = least(pohf_now() + make_interval(days => ${openDays}), ${openUntil}::timestamptz)
    where agent_id = ${key.agentId} and mode = ${key.mode} and order_id = ${key.orderId} and status = 'open'`.execute(
    tx,
  )
}

const columns = [
  'agent_id',
  'mode',
  'order_id',
  'n',
  'status',
  'task_id',
  'price_usd_cents',
  'item',
  'worker_ref',
  'session_id',
  'credential_id',
  'answer',
  'quality',
  'delivered_at',
  'review_until',
  'rejected_at',
  'reject_reason',
  'reject_note',
  'appeal_until',
  'appealed_at',
  'appeal_text',
  'decision',
  'decision_reason',
  'ended_at',
  'house_pays',
] as const
const selectUnits = (tx: Tx) =>
  tx
    .selectFrom('order_units')
    .select(columns)
    .select([
      sql<boolean>`coalesce(review_until <= pohf_now(), false)`.as('review_is_over'),
      sql<boolean>`coalesce(appeal_until <= pohf_now(), false)`.as('appeal_is_over'),
    ])
type Row = Awaited<ReturnType<ReturnType<typeof selectUnits>['executeTakeFirstOrThrow']>>

const unitOf = (row: Row) => ({
  agentId: row.agent_id as AgentId,
  mode: row.mode,
  orderId: row.order_id,
  n: row.n,
  status: row.status,
  taskId: row.task_id,
  priceUsdCents: row.price_usd_cents,
  item: row.item,
  workerRef: row.worker_ref,
  sessionId: row.session_id,
  credentialId: row.credential_id,
  answer: row.answer,
  quality: row.quality,
  deliveredAt: row.delivered_at,
  reviewUntil: row.review_until,
  reviewIsOver: row.review_is_over,
  rejection:
    row.rejected_at === null || row.reject_reason === null
      ? null
      : { reason: row.reject_reason, note: row.reject_note, at: row.rejected_at },
  appealUntil: row.appeal_until,
  appealIsOver: row.appeal_is_over,
  appeal:
    row.appealed_at === null
      ? null
      : {
          text: row.appeal_text ?? '',
          at: row.appealed_at,
          decision: row.decision,
          decisionReason: row.decision_reason,
        },
  endedAt: row.ended_at,
  platformPays: row.house_pays,
})
export type Unit = ReturnType<typeof unitOf>
export type UnitKey = OrderKey & { readonly n: number }

const unitQuery = (tx: Tx, key: UnitKey) =>
  selectUnits(tx)
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('order_id', '=', key.orderId)
    .where('n', '=', key.n)
export const findUnit = async (tx: Tx, key: UnitKey): Promise<Unit | undefined> => {
  const row = await unitQuery(tx, key).executeTakeFirst()
  return row && unitOf(row)
}
export const findUnitForUpdate = async (tx: Tx, key: UnitKey): Promise<Unit | undefined> => {
  const row = await unitQuery(tx, key).forUpdate().executeTakeFirst()
  return row && unitOf(row)
}

export const listUnits = async (
  tx: Tx,
  key: OrderKey,
  page: { readonly status?: UnitState | undefined; readonly after: number; readonly limit: number },
): Promise<Unit[]> => {
  const ofOrder = selectUnits(tx)
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('order_id', '=', key.orderId)
    .where('n', '>', page.after)
  const rows = await (page.status === undefined ? ofOrder : ofOrder.where('status', '=', page.status))
    .orderBy('n')
    .limit(page.limit)
    .execute()
  return rows.map(unitOf)
}

export type UnitCount = {
  readonly status: UnitState
  readonly count: number
  readonly usdCents: bigint
  /** The part that the operator pays after a chargeback. */
  readonly platformUsdCents: bigint
}
/** Number and price of the units of each order by state. */
export const countUnits = async (
  tx: Tx,
  ledgerKey: { readonly agentId: string; readonly mode: Mode },
  orderIds: readonly string[],
): Promise<ReadonlyMap<string, readonly UnitCount[]>> => {
  const { rows } = await sql<UnitCount & { orderId: string }>`
    select order_id as "orderId", status, count(*)::int as count, sum(price_usd_cents)::bigint as "usdCents",
      coalesce(sum(price_usd_cents) filter (where house_pays), 0)::bigint as "platformUsdCents"
    from order_units where agent_id = ${ledgerKey.agentId} and mode = ${ledgerKey.mode}
      and order_id = any(${[...orderIds]}::text[])
    group by order_id, status`.execute(tx)
  const countsByOrder = new Map<string, UnitCount[]>(orderIds.map((orderId) => [orderId, []]))
  for (const { orderId, ...unitCount } of rows) countsByOrder.get(orderId)?.push(unitCount)
  return countsByOrder
}

export const unitUpdate = (tx: Tx, key: UnitKey) =>
  tx
    .updateTable('order_units')
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('order_id', '=', key.orderId)
    .where('n', '=', key.n)

type Reopening = {
  readonly afterMinutes: number
  /** Its order waits for an operator: nobody finds it until then. */
  readonly isHeld: boolean
}
export const updateUnitReopened = async (
  tx: Tx,
  key: UnitKey,
  { afterMinutes, isHeld }: Reopening,
): Promise<void> => {
  await unitUpdate(tx, key)
    .set({
      status: 'open',
      ...(isHeld ? { task_id: null } : {}),
      open_from: afterMinutes === 0 ? null : sql<Date>`pohf_now() + make_interval(mins => ${afterMinutes})`,
    })
    .execute()
}
export const updateUnitCancelled = async (tx: Tx, key: UnitKey): Promise<void> => {
  await unitUpdate(tx, key).set({ status: 'cancelled', ended_at: now() }).execute()
}
type UnitDelivery = {
  readonly workerRef: string
  readonly sessionId: string
  readonly credentialId: string
  readonly answer: unknown
  readonly quality: number | null
  readonly reviewMinutes: number
}
export const updateUnitDelivered = async (tx: Tx, key: UnitKey, delivered: UnitDelivery): Promise<void> => {
  await unitUpdate(tx, key)
    .set({
      status: 'delivered',
      worker_ref: delivered.workerRef,
      session_id: delivered.sessionId,
      credential_id: delivered.credentialId,
      answer: JSON.stringify(delivered.answer),
      quality: delivered.quality,
      delivered_at: now(),
      review_until: sql<Date>`pohf_now() + make_interval(mins => ${delivered.reviewMinutes})`,
    })
    .execute()
}
export const updateUnitAccepted = async (
  tx: Tx,
  key: UnitKey,
  accepted: { readonly toStock: boolean },
): Promise<void> => {
  await unitUpdate(tx, key)
    .set({ status: 'accepted', ended_at: now(), ...(accepted.toStock ? { stock: 'shelf' } : {}) })
    .execute()
}
export const updateUnitRejected = async (
  tx: Tx,
  key: UnitKey,
  rejection: { readonly reason: RejectReason; readonly note: string | undefined },
): Promise<void> => {
  await unitUpdate(tx, key)
    .set({
      status: 'rejected',
      rejected_at: now(),
      reject_reason: rejection.reason,
      reject_note: rejection.note ?? null,
      appeal_until: sql<Date>`pohf_now() + make_interval(hours => ${appealHours})`,
    })
    .execute()
}
export const updateUnitAppealed = async (tx: Tx, key: UnitKey, text: string): Promise<void> => {
  await unitUpdate(tx, key).set({ status: 'appealed', appealed_at: now(), appeal_text: text }).execute()
}
export const updateUnitDecided = async (
  tx: Tx,
  key: UnitKey,
  ruling: { readonly decision: 'accepted' | 'refused'; readonly reason: string },
): Promise<void> => {
  await unitUpdate(tx, key).set({ decision: ruling.decision, decision_reason: ruling.reason }).execute()
}
export const updateUnitRefused = async (tx: Tx, key: UnitKey): Promise<void> => {
  await unitUpdate(tx, key).set({ status: 'refused', ended_at: now() }).execute()
}

export const updateUnitPlatformPays = async (tx: Tx, key: UnitKey): Promise<void> => {
  await unitUpdate(tx, key).set({ house_pays: true }).execute()
}

/** All units of an order in these states; an order has at most 10,000. */
export const listUnitsByState = async (
  tx: Tx,
  key: OrderKey,
  states: readonly UnitState[],
): Promise<Unit[]> => {
  const rows = await selectUnits(tx)
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('order_id', '=', key.orderId)
    .where('status', 'in', [...states])
    .orderBy('n')
    .execute()
  return rows.map(unitOf)
}

/** Cancels every open unit and returns their number and price. */
export const updateOpenCancelled = async (
  tx: Tx,
  key: OrderKey,
): Promise<{ readonly count: number; readonly usdCents: bigint }> => {
  const { rows } = await sql<{ count: number; usdCents: bigint }>`
    with ended as (
      update order_units set status = 'cancelled', ended_at = pohf_now()
      where agent_id = ${key.agentId} and mode = ${key.mode} and order_id = ${key.orderId} and status = 'open'
      returning price_usd_cents)
    select count(*)::int as count, coalesce(sum(price_usd_cents), 0)::bigint as "usdCents" from ended`.execute(
    tx,
  )
  return rows[0] ?? { count: 0, usdCents: 0n }
}

/** Cancels the units of an order that nobody claimed in time. `firstN` identifies the batch: a unit is cancelled once. */
export const updateUnclaimedCancelled = async (
  tx: Tx,
  key: OrderKey,
): Promise<{ readonly firstN: number | null; readonly usdCents: bigint }> => {
  const { rows } = await sql<{ firstN: number | null; usdCents: bigint }>`
    with ended as (
      update order_units set status = 'cancelled', ended_at = pohf_now()
      where agent_id = ${key.agentId} and mode = ${key.mode} and order_id = ${key.orderId} and status = 'open'
        and open_until <= pohf_now()
      returning n, price_usd_cents)
    select min(n) as "firstN", coalesce(sum(price_usd_cents), 0)::bigint as "usdCents" from ended`.execute(tx)
  return rows[0] ?? { firstN: null, usdCents: 0n }
}

export type UnitKeyRow = Pick<Selectable<DB['order_units']>, 'agent_id' | 'mode' | 'order_id' | 'n'>
export const unitKeyOf = (row: UnitKeyRow): UnitKey => ({
  agentId: row.agent_id,
  mode: row.mode,
  orderId: row.order_id,
  n: row.n,
})
/** Units that are past the deadline of their state. Not locked: the caller locks the order first, and checks again. */
export const listOverdueUnits = async (
  tx: Tx,
  kind: 'open' | 'delivered' | 'rejected',
  limit: number,
): Promise<UnitKey[]> => {
  const until = sql.ref({ open: 'open_until', delivered: 'review_until', rejected: 'appeal_until' }[kind])
  const { rows } = await sql<UnitKeyRow>`
    select agent_id, mode, order_id, n from order_units where status = ${sql.lit(kind)} and ${until} <= pohf_now()
    order by ${until} limit ${limit}`.execute(tx)
  return rows.map(unitKeyOf)
}
const recentReviewsMax = 1_000

/** What was delivered to a buyer lately, and how much of it the buyer rejected; of the newest thousand units. */
export const countRecentReviews = async (
  tx: Tx,
  buyer: { readonly agentId: string; readonly mode: Mode },
): Promise<RecentReviews> => {
  const { rows } = await sql<RecentReviews>`
    select count(*)::int as delivered, count(rejected_at)::int as rejected from (
      select rejected_at from order_units
      where agent_id = ${buyer.agentId} and mode = ${buyer.mode}
        and delivered_at > pohf_now() - make_interval(days => ${recentReviewDays})
      order by delivered_at desc limit ${recentReviewsMax}) recent`.execute(tx)
  return rows[0] ?? { delivered: 0, rejected: 0 }
}

/** Units with an undecided appeal, oldest first. */
export const listAppealed = async (tx: Tx, limit: number): Promise<Unit[]> => {
  const rows = await selectUnits(tx)
    .where('status', '=', 'appealed')
    .where('appealed_at', 'is not', null)
    .where('decision', 'is', null)
    .orderBy('appealed_at')
    .limit(limit)
    .execute()
  return rows.map(unitOf)
}

/** How many appeals wait for a decision; the count stops at `max`. */
export const countAppealed = async (tx: Tx, max: number): Promise<number> => {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from (
      select from order_units where status = 'appealed' and appealed_at is not null and decision is null
      limit ${max}) first`.execute(tx)
  return rows[0]?.count ?? 0
}

/** How long this buyer took to accept or reject the units of an order, in minutes. A sample of twenty is enough. */
export const listReviewMinutes = async (
  tx: Tx,
  key: OrderKey,
  outcome: 'accepted' | 'rejected',
): Promise<number[]> => {
  const states = outcome === 'accepted' ? ['accepted'] : ['rejected', 'appealed', 'refused']
  const { rows } = await sql<{ minutes: number }>`
    select ceil(extract(epoch from coalesce(rejected_at, ended_at) - delivered_at) / 60)::int as minutes
    from order_units where agent_id = ${key.agentId} and mode = ${key.mode} and order_id = ${key.orderId}
      and status = any(${states}::text[]) limit 20`.execute(tx)
  return rows.map(({ minutes }) => minutes)
}
