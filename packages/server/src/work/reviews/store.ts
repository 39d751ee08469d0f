import { sql } from 'kysely'
import type { Mode, reportReasons } from '@pohf/protocol'
import { now, type Tx } from '../../platform/db/db.ts'
import type { OrderKey } from '../orders/store.ts'
import type { OrderState } from '../rules.ts'
import { reporterDays, reportsHours, reportsMax, reviewedMax, type ReviewDecision } from './rules.ts'

type Buyer = { readonly agentId: string; readonly mode: Mode }
type ReportReason = (typeof reportReasons)[number]

const orderUpdate = (tx: Tx, key: OrderKey) =>
  tx
    .updateTable('orders')
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('order_id', '=', key.orderId)

/** The latest reviewed orders of a buyer, newest first. */
export const listReviewedOrders = async (tx: Tx, buyer: Buyer) => {
  const { rows } = await sql<{ decision: ReviewDecision; status: OrderState; daysAgo: number }>`
    select review_decision as decision, status, floor(extract(epoch from pohf_now() - reviewed_at) / 86400)::int as "daysAgo"
    from orders where agent_id = ${buyer.agentId} and mode = ${buyer.mode} and reviewed_at is not null
    order by reviewed_at desc limit ${reviewedMax}`.execute(tx)
  return rows
}
/** How many orders of a buyer wait for an operator; the count stops at `max`. */
export const countWaitingOfBuyer = async (tx: Tx, buyer: Buyer, max: number): Promise<number> => {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from (
      select from orders where agent_id = ${buyer.agentId} and mode = ${buyer.mode} and review_since is not null
      limit ${max}) first`.execute(tx)
  return rows[0]?.count ?? 0
}
/** How many orders wait for the review of an operator; the count stops at `max`. */
export const countReviews = async (tx: Tx, max: number): Promise<number> => {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from (
      select from orders where review_since is not null limit ${max}) first`.execute(tx)
  return rows[0]?.count ?? 0
}
/** The orders that wait for the review of an operator, oldest first. */
export const listReviewKeys = async (tx: Tx, limit: number): Promise<OrderKey[]> => {
  const rows = await tx
    .selectFrom('orders')
    .select(['agent_id', 'mode', 'order_id'])
    .where('review_since', 'is not', null)
    .orderBy('review_since')
    .limit(limit)
    .execute()
  return rows.map((row) => ({ agentId: row.agent_id, mode: row.mode, orderId: row.order_id }))
}

/** A paid order of a new buyer waits: none of its units has a task yet. */
export const updateOrderHeldAsNew = async (tx: Tx, key: OrderKey): Promise<void> => {
  await orderUpdate(tx, key).set({ review_cause: 'new_buyer', review_since: now(), held: true }).execute()
}
/** A reported order waits for an operator. Held, its open units lose their task: nobody claims another one. */
export const updateOrderReported = async (tx: Tx, key: OrderKey, held: boolean): Promise<void> => {
  await orderUpdate(tx, key)
    .set({
      review_cause: 'reports',
      review_since: sql<Date>`coalesce(review_since, pohf_now())`,
      ...(held ? { held } : {}),
    })
    .execute()
  if (held)
    await sql`
      update order_units set task_id = null where agent_id = ${key.agentId} and mode = ${key.mode}
        and order_id = ${key.orderId} and status = 'open'`.execute(tx)
}
export const updateOrderReviewed = async (
  tx: Tx,
  key: OrderKey,
  { decision, reason }: { readonly decision: ReviewDecision; readonly reason: string | undefined },
): Promise<void> => {
  await orderUpdate(tx, key)
    .set({
      review_since: null,
      held: false,
      review_decision: decision,
      review_reason: reason ?? null,
      reviewed_at: now(),
    })
    .execute()
}

/** The seconds until a person may report again; undefined where they may now. */
export const findReportLimitEnd = async (tx: Tx, personId: string): Promise<number | undefined> => {
  const { rows } = await sql<{ seconds: number }>`
    select greatest(1, ceil(extract(epoch from reported_at + make_interval(hours => ${reportsHours}) - pohf_now())))::int
      as seconds
    from assignments where person_id = ${personId} and reported_at is not null
      and reported_at > pohf_now() - make_interval(hours => ${reportsHours})
    order by reported_at desc offset ${reportsMax - 1} limit 1`.execute(tx)
  return rows[0]?.seconds
}
/** The decided reports of a person; the limit of a day bounds their number. */
export const countDecidedReports = async (
  tx: Tx,
  personId: string,
): Promise<{ readonly upheld: number; readonly dismissed: number }> => {
  const { rows } = await sql<{ upheld: number; dismissed: number }>`
    select count(*) filter (where report_upheld)::int as upheld,
      count(*) filter (where not report_upheld)::int as dismissed
    from assignments where person_id = ${personId} and reported_at is not null
      and reported_at > pohf_now() - make_interval(days => ${reporterDays})`.execute(tx)
  return rows[0] ?? { upheld: 0, dismissed: 0 }
}
export const updateAssignmentReported = async (
  tx: Tx,
  assignmentId: string,
  report: { readonly reason: ReportReason; readonly counts: boolean },
): Promise<void> => {
  await tx
    .updateTable('assignments')
    .set({ reported_at: now(), report_reason: report.reason, report_counts: report.counts })
    .where('assignment_id', '=', assignmentId)
    .execute()
}
/** How many people have reported an order since its latest decision, of those whose reports count; it stops at `max`. */
export const countReporters = async (tx: Tx, key: OrderKey, max: number): Promise<number> => {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from (
      select distinct coalesce(person_id, assignment_id) from assignments
      where agent_id = ${key.agentId} and mode = ${key.mode} and order_id = ${key.orderId}
        and reported_at is not null and report_upheld is null and report_counts limit ${max}) reporter`.execute(
    tx,
  )
  return rows[0]?.count ?? 0
}
/** The decision of the operator on every open report of an order. */
export const updateReportsDecided = async (tx: Tx, key: OrderKey, upheld: boolean): Promise<void> => {
  await tx
    .updateTable('assignments')
    .set({ report_upheld: upheld })
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('order_id', '=', key.orderId)
    .where('reported_at', 'is not', null)
    .where('report_upheld', 'is', null)
    .execute()
}

/** How many reports of an order, and of a buyer, an operator sees. */
const reportsShownMax = 100
const reportsCountedMax = 1_000

export const listOpenReports = async (tx: Tx, key: OrderKey) => {
  const rows = await tx
    .selectFrom('assignments')
    .select(['reported_at', 'report_reason', 'report_counts'])
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('order_id', '=', key.orderId)
    .where('reported_at', 'is not', null)
    .where('report_upheld', 'is', null)
    .orderBy('reported_at')
    .limit(reportsShownMax)
    .execute()
  return rows.flatMap(({ reported_at: at, report_reason: reason, report_counts: counts }) =>
    at && reason && counts !== null ? [{ at, reason, counts }] : [],
  )
}
/** The reports of all orders of a buyer, by their decision. */
export const countReportsOfBuyer = async (
  tx: Tx,
  buyer: Buyer,
): Promise<{ readonly open: number; readonly upheld: number; readonly dismissed: number }> => {
  const { rows } = await sql<{ open: number; upheld: number; dismissed: number }>`
    select count(*) filter (where report_upheld is null)::int as open,
      count(*) filter (where report_upheld)::int as upheld,
      count(*) filter (where not report_upheld)::int as dismissed
    from (select report_upheld from assignments
      where agent_id = ${buyer.agentId} and mode = ${buyer.mode} and reported_at is not null
      limit ${reportsCountedMax}) reports`.execute(tx)
  return rows[0] ?? { open: 0, upheld: 0, dismissed: 0 }
}
