import { sql } from 'kysely'
import type { Mode } from '@pohf/protocol'
import { now, type Tx } from '../../platform/db/db.ts'
import type { OrderKey } from '../orders/store.ts'
import { appealHours, openDays, reviewHours, type RejectReason, type UnitState } from './rules.ts'

type NewUnits = {
  readonly quantity: number
  readonly totalUsdCents: bigint
  /** How many items the buyer sent; they are used in turn. */
  readonly items: number
  readonly taskId: string | null
}
/** Cuts an order into units. The prices are whole cents and sum to the total: the first ones carry the remainder. */
export const insertUnits = async (tx: Tx, key: OrderKey, units: NewUnits): Promise<void> => {
  const { quantity, totalUsdCents: total, items, taskId } = units
  await sql`
    insert into order_units (agent_id, mode, order_id, n, task_id, price_usd_cents, item, open_until)
    select ${key.agentId}, ${key.mode}, ${key.orderId}, n, ${taskId},
      ${total}::bigint / ${quantity}::int + case when n <= ${total}::bigint % ${quantity}::int then 1 else 0 end,
      case when ${items}::int > 0 then (n - 1) % ${items}::int end,
      pohf_now() + make_interval(days => ${openDays})
    from generate_series(1, ${quantity}::int) n`.execute(tx)
}

/** An operator took the order on: its units can be found, and wait their days from now. */
export const updateUnitsReady = async (tx: Tx, key: OrderKey, taskId: string): Promise<void> => {
  await sql`
    update order_units set task_id = ${taskId}, open_until = pohf_now() + make_interval(days => ${openDays})
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
  agentId: row.agent_id as `agt_${string}`,
  mode: row.mode as Mode,
  orderId: row.order_id,
  n: row.n,
  status: row.status as UnitState,
  taskId: row.task_id,
  priceUsdCents: row.price_usd_cents,
  item: row.item,
  workerRef: row.worker_ref,
  sessionId: row.session_id,
  credentialId: row.credential_id,
  answer: row.answer as unknown,
  quality: row.quality,
  deliveredAt: row.delivered_at,
  reviewUntil: row.review_until,
  reviewIsOver: row.review_is_over,
  rejection:
    row.rejected_at === null || row.reject_reason === null
      ? null
      : { reason: row.reject_reason as RejectReason, note: row.reject_note, at: row.rejected_at },
  appealUntil: row.appeal_until,
  appealIsOver: row.appeal_is_over,
  appeal:
    row.appealed_at === null
      ? null
      : {
          text: row.appeal_text ?? '',
          at: row.appealed_at,
          decision: row.decision as 'accepted' | 'refused' | null,
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
  /** Of these, what the operator pays because the buyer took the money back. */
  readonly houseUsdCents: bigint
}
/** How many units of each order are in each state, and their money. */
export const countUnits = async (
  tx: Tx,
  ledgerKey: { readonly agentId: string; readonly mode: Mode },
  orderIds: readonly string[],
): Promise<ReadonlyMap<string, readonly UnitCount[]>> => {
  const { rows } = await sql<UnitCount & { orderId: string }>`
    select order_id as "orderId", status, count(*)::int as count, sum(price_usd_cents)::bigint as "usdCents",
      coalesce(sum(price_usd_cents) filter (where house_pays), 0)::bigint as "houseUsdCents"
    from order_units where agent_id = ${ledgerKey.agentId} and mode = ${ledgerKey.mode}
      and order_id = any(${[...orderIds]}::text[])
    group by order_id, status`.execute(tx)
  const tallies = new Map<string, UnitCount[]>(orderIds.map((orderId) => [orderId, []]))
  for (const { orderId, ...tally } of rows) tallies.get(orderId)?.push(tally)
  return tallies
}

/**
 * Takes the oldest open unit that this person may do. Those that others look at are passed over, so nobody waits.
 * `materialized` is what makes it one: inside a join the choice may be run again for each row, and takes one each time.
 * Never one whose item the person had before: a second opinion is another person's.
 */
export const claimUnit = async (
  tx: Tx,
  request: { readonly taskId: string; readonly mode: Mode; readonly personId: string },
): Promise<Unit | undefined> => {
  const { rows } = await sql<{ agent_id: string; order_id: string; n: number }>`
    with taken as materialized (
      select agent_id, mode, order_id, n from order_units open
      where task_id = ${request.taskId} and mode = ${request.mode} and status = 'open' and open_until > pohf_now()
        and not exists (select from assignments had where had.person_id = ${request.personId}
          and had.order_id = open.order_id and had.agent_id = open.agent_id and had.mode = open.mode
          and (had.item = open.item or had.n = open.n) and had.status not in ('returned', 'ran_out'))
      order by created_at, order_id, n limit 1 for update skip locked)
    update order_units unit set status = 'claimed' from taken
    where unit.agent_id = taken.agent_id and unit.mode = taken.mode and unit.order_id = taken.order_id
      and unit.n = taken.n
    returning unit.agent_id, unit.order_id, unit.n`.execute(tx)
  const [row] = rows
  return row && findUnit(tx, { agentId: row.agent_id, mode: request.mode, orderId: row.order_id, n: row.n })
}

/** Takes the one unit of an order that was made for this person. */
export const claimOnlyUnit = async (tx: Tx, key: OrderKey): Promise<Unit | undefined> => {
  await unitUpdate(tx, { ...key, n: 1 })
    .set({ status: 'claimed' })
    .execute()
  return findUnit(tx, { ...key, n: 1 })
}

/** What waits for this person: how many units of each task, at most so many of each are counted. */
export const listOpenTasks = async (
  tx: Tx,
  request: {
    readonly mode: Mode
    readonly personId: string
    readonly limit: number
    readonly countMax: number
  },
): Promise<{ taskId: string; available: number; agentId: string; orderId: string }[]> => {
  const { rows } = await sql<{ taskId: string; available: number; agentId: string; orderId: string }>`
    with recursive task as (
      (select task_id from order_units where status = 'open' and mode = ${request.mode} and task_id is not null
        order by task_id limit 1)
      union all
      select (select next.task_id from order_units next where next.status = 'open' and next.mode = ${request.mode}
        and next.task_id > task.task_id order by next.task_id limit 1) from task where task.task_id is not null
    )
    select task.task_id as "taskId", waiting.available, waiting.agent_id as "agentId", waiting.order_id as "orderId"
    from task cross join lateral (
      select count(*)::int as available, (array_agg(few.agent_id))[1] as agent_id,
        (array_agg(few.order_id))[1] as order_id
      from (
        select agent_id, order_id from order_units open
        where open.task_id = task.task_id and open.mode = ${request.mode} and open.status = 'open'
          and open.open_until > pohf_now()
          and not exists (select from assignments had where had.person_id = ${request.personId}
            and had.order_id = open.order_id and had.agent_id = open.agent_id and had.mode = open.mode
            and (had.item = open.item or had.n = open.n) and had.status not in ('returned', 'ran_out'))
        order by created_at, order_id, n limit ${request.countMax}) few
    ) waiting
    where task.task_id is not null and waiting.available > 0 limit ${request.limit}`.execute(tx)
  return rows
}

const unitUpdate = (tx: Tx, key: UnitKey) =>
  tx
    .updateTable('order_units')
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('order_id', '=', key.orderId)
    .where('n', '=', key.n)

/** Nobody works on it any more: it waits again. */
export const updateUnitReopened = async (tx: Tx, key: UnitKey): Promise<void> => {
  await unitUpdate(tx, key).set({ status: 'open' }).execute()
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
      review_until: sql<Date>`pohf_now() + make_interval(hours => ${reviewHours})`,
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
/** An appeal about a known item: the unit stays accepted. */
export const updateUnitKnownAnswerAppealed = async (tx: Tx, key: UnitKey, text: string): Promise<void> => {
  await unitUpdate(tx, key).set({ appealed_at: now(), appeal_text: text }).execute()
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

/** Ends every unit that waits, and says how much money that frees. */
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

/** Ends every unit of an order that nobody took in time. `firstN` names the batch: no unit ends twice. */
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

type KeyRow = { agent_id: string; mode: Mode; order_id: string; n: number }
const unitKeyOf = (row: KeyRow): UnitKey => ({
  agentId: row.agent_id,
  mode: row.mode,
  orderId: row.order_id,
  n: row.n,
})
/** Units whose time is over in a state. Not locked: whoever acts locks the order first, and looks again. */
export const listOverdueUnits = async (
  tx: Tx,
  kind: 'open' | 'delivered' | 'rejected',
  limit: number,
): Promise<UnitKey[]> => {
  const until = sql.ref({ open: 'open_until', delivered: 'review_until', rejected: 'appeal_until' }[kind])
  const { rows } = await sql<KeyRow>`
    select agent_id, mode, order_id, n from order_units where status = ${sql.lit(kind)} and ${until} <= pohf_now()
    order by ${until} limit ${limit}`.execute(tx)
  return rows.map(unitKeyOf)
}
/** Appeals that wait for an operator, oldest first. */
export const listAppealed = async (tx: Tx, limit: number): Promise<Unit[]> => {
  const rows = await selectUnits(tx)
    .where('appealed_at', 'is not', null)
    .where('decision', 'is', null)
    .orderBy('appealed_at')
    .limit(limit)
    .execute()
  return rows.map(unitOf)
}

type StockedUnit = UnitKey & { readonly answer: unknown; readonly sessionId: string }
/** Takes the oldest unit off the shelf; what others look at is passed over. */
export const claimStockUnit = async (
  tx: Tx,
  taskId: string,
  mode: Mode,
): Promise<StockedUnit | undefined> => {
  const { rows } = await sql<KeyRow & { answer: unknown; session_id: string }>`
    with taken as materialized (
      select agent_id, mode, order_id, n from order_units
      where task_id = ${taskId} and mode = ${mode} and stock = 'shelf'
      order by ended_at limit 1 for update skip locked)
    update order_units unit set stock = 'taken' from taken
    where unit.agent_id = taken.agent_id and unit.mode = taken.mode and unit.order_id = taken.order_id
      and unit.n = taken.n
    returning unit.agent_id, unit.mode, unit.order_id, unit.n, unit.answer, unit.session_id`.execute(tx)
  const [row] = rows
  return row && { ...unitKeyOf(row), answer: row.answer, sessionId: row.session_id }
}
/** Where a unit that was taken goes: back, or away for good. False where it was not taken. */
export const updateStock = async (tx: Tx, key: UnitKey, stock: 'shelf' | 'sold'): Promise<boolean> => {
  const { numUpdatedRows } = await unitUpdate(tx, key)
    .set({ stock })
    .where('stock', '=', 'taken')
    .executeTakeFirst()
  return numUpdatedRows === 1n
}
export const existsInStock = async (tx: Tx, taskId: string, mode: Mode): Promise<boolean> => {
  const row = await tx
    .selectFrom('order_units')
    .select('n')
    .where('task_id', '=', taskId)
    .where('mode', '=', mode)
    .where('stock', '=', 'shelf')
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}
/** How many units of each task are on the shelf. */
export const countStockByTask = async (
  tx: Tx,
): Promise<{ readonly taskId: string; readonly mode: Mode; readonly count: number }[]> => {
  const { rows } = await sql<{ taskId: string; mode: Mode; count: number }>`
    select task_id as "taskId", mode, count(*)::int as count from order_units
    where stock = 'shelf' group by task_id, mode`.execute(tx)
  return rows
}

export type OrderEscrow = OrderKey & { readonly usdCents: bigint }
/** Orders of which a unit began or ended within this time, with the money of those that have not ended. */
export const listChangedOrders = async (
  tx: Tx,
  span: { readonly from: Date; readonly to: Date },
): Promise<OrderEscrow[]> => {
  const { rows } = await sql<OrderEscrow>`
    select agent_id as "agentId", mode, order_id as "orderId",
      coalesce(sum(price_usd_cents) filter (where ended_at is null and not house_pays), 0)::bigint as "usdCents"
    from order_units where (agent_id, mode, order_id) in (
      select agent_id, mode, order_id from order_units where created_at >= ${span.from} and created_at < ${span.to}
      union
      select agent_id, mode, order_id from order_units where ended_at >= ${span.from} and ended_at < ${span.to})
    group by agent_id, mode, order_id`.execute(tx)
  return rows
}
/** The money of an order's units that have not ended. */
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

/** Erasure: by which name a buyer knew the person, and what the person wrote to the operator. */
export const eraseWorkerRef = async (
  tx: Tx,
  worker: { readonly agentId: string; readonly mode: Mode; readonly memberId: string },
): Promise<void> => {
  await tx
    .updateTable('order_units')
    .set({ worker_ref: null, appeal_text: null })
    .where('agent_id', '=', worker.agentId)
    .where('mode', '=', worker.mode)
    .where('worker_ref', '=', worker.memberId)
    .execute()
}
