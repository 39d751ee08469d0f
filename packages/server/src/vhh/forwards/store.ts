import { sql, type Selectable } from 'kysely'
import { now, type Tx } from '../../platform/db/db.ts'
import type { DB } from '../../platform/db/schema.ts'
import type { Assessment } from '../rules.ts'

type Row = Selectable<DB['forward_orders']>
export type ForwardStatus = Row['status']

type NewForwardOrder = {
  readonly orderId: string
  readonly name: string
  readonly company: string
  readonly email: string
  readonly hours: number
  readonly month: string
  readonly category: string | null
  readonly notes: string | null
  readonly hoursAvailable: number
  readonly assessment: Assessment
  readonly premiumPct: number
  readonly epoch: string
  readonly totalUsdCents: bigint | null
}
export const insertForwardOrder = async (tx: Tx, order: NewForwardOrder): Promise<void> => {
  await tx
    .insertInto('forward_orders')
    .values({
      order_id: order.orderId,
      name: order.name,
      company: order.company,
      email: order.email,
      hours: order.hours,
      month: order.month,
      category: order.category,
      notes: order.notes,
      hours_available: order.hoursAvailable,
      assessment: order.assessment,
      premium_pct: order.premiumPct,
      epoch: order.epoch,
      total_usd_cents: order.totalUsdCents,
    })
    .execute()
}

export type StoredForward = NewForwardOrder & {
  readonly status: ForwardStatus
  readonly quotedUsdCents: bigint | null
  readonly invoiceRef: string | null
  readonly note: string | null
  readonly receivedAt: Date
  readonly changedAt: Date
}
const columns = [
  'order_id',
  'status',
  'name',
  'company',
  'email',
  'hours',
  'month',
  'category',
  'notes',
  'hours_available',
  'assessment',
  'premium_pct',
  'epoch',
  'total_usd_cents',
  'quoted_usd_cents',
  'invoice_ref',
  'note',
  'received_at',
  'changed_at',
] as const
const forwardOf = (row: Pick<Row, (typeof columns)[number]>): StoredForward => ({
  orderId: row.order_id,
  status: row.status,
  name: row.name,
  company: row.company,
  email: row.email,
  hours: row.hours,
  month: row.month,
  category: row.category,
  notes: row.notes,
  hoursAvailable: row.hours_available,
  assessment: row.assessment,
  premiumPct: row.premium_pct,
  epoch: row.epoch,
  totalUsdCents: row.total_usd_cents,
  quotedUsdCents: row.quoted_usd_cents,
  invoiceRef: row.invoice_ref,
  note: row.note,
  receivedAt: row.received_at,
  changedAt: row.changed_at,
})

export const listForwards = async (
  tx: Tx,
  status: ForwardStatus,
  page: { readonly after: string; readonly limit: number },
): Promise<StoredForward[]> => {
  const rows = await tx
    .selectFrom('forward_orders')
    .select(columns)
    .where('status', '=', status)
    .where('order_id', '>', page.after)
    .orderBy('order_id')
    .limit(page.limit)
    .execute()
  return rows.map(forwardOf)
}

export const findForwardForUpdate = async (tx: Tx, orderId: string): Promise<StoredForward | undefined> => {
  const row = await tx
    .selectFrom('forward_orders')
    .select(columns)
    .where('order_id', '=', orderId)
    .forUpdate()
    .executeTakeFirst()
  return row && forwardOf(row)
}

type ForwardChange = {
  readonly status: ForwardStatus
  readonly quotedUsdCents?: bigint
  readonly invoiceRef?: string | undefined
  readonly note?: string | undefined
}
/** Changes a locked request; the database refuses a transition that does not exist. */
export const updateForward = async (
  tx: Tx,
  orderId: string,
  change: ForwardChange,
): Promise<StoredForward> => {
  const row = await tx
    .updateTable('forward_orders')
    .set({
      status: change.status,
      ...(change.quotedUsdCents === undefined ? {} : { quoted_usd_cents: change.quotedUsdCents }),
      ...(change.invoiceRef === undefined ? {} : { invoice_ref: change.invoiceRef }),
      ...(change.note === undefined ? {} : { note: change.note }),
    })
    .where('order_id', '=', orderId)
    .returning(columns)
    .executeTakeFirstOrThrow(
      () => new Error(`forward order ${orderId} not found while moving it to ${change.status}`),
    )
  return forwardOf(row)
}

/** The hours of a month that agreements promise. */
export const findPromisedHours = async (tx: Tx, month: string): Promise<number> => {
  const { rows } = await sql<{ hours: number }>`
    select coalesce(sum(hours), 0)::float8 as hours from forward_orders
    where month = ${month} and status in ('countersigned', 'invoiced')`.execute(tx)
  return rows[0]?.hours ?? 0
}

/**
 * How many requests came in the last 24 hours, from this address and from everybody; each count stops at its limit. Locks
 * requests against each other, so that parallel ones cannot pass a limit together.
 */
export const countRecent = async (
  tx: Tx,
  email: string,
  limits: { readonly perAddress: number; readonly inTotal: number },
): Promise<{ readonly ofAddress: number; readonly inTotal: number }> => {
  await sql`select pg_advisory_xact_lock(hashtextextended('forward_orders', 0))`.execute(tx)
  // Ids are in the order of time: the newest rows are enough, however many there are.
  const { rows } = await sql<{ ofAddress: number; inTotal: number }>`
    select
      (select count(*)::int from (
        select from forward_orders where email = ${email} and received_at > ${now()} - interval '24 hours'
        limit ${limits.perAddress}) first) as "ofAddress",
      (select count(*)::int from (
        select received_at from forward_orders order by order_id desc limit ${limits.inTotal}) newest
      where received_at > ${now()} - interval '24 hours') as "inTotal"`.execute(tx)
  return rows[0] ?? { ofAddress: 0, inTotal: 0 }
}
