import { sql } from 'kysely'
import type { Tx } from '../../platform/db/db.ts'

/** A span of time, read page by page. */
type SettledSpan<Cursor> = {
  readonly from: Date
  readonly to: Date
  readonly after: Cursor | undefined
  readonly limit: number
}
/** `at` is text, because PostgreSQL has microseconds and a Date has milliseconds. */
type UnitCursor = {
  readonly at: string
  readonly agentId: string
  readonly orderId: string
  readonly n: number
}
type Work = {
  /** The account that the worker is paid into: a code that leads to nobody by itself. */
  readonly worker: string | null
  /** The length of the recording; null where it was not measured. */
  readonly seconds: number | null
  readonly category: string | null
}
type SettledUnit = Work & {
  readonly position: UnitCursor
  readonly usdCents: bigint
  /** Findings that buyer and worker may be the same. */
  readonly flags: readonly string[]
  readonly paidByOperator: boolean
  /** The buyer rejected the unit, and an operator decided for the worker. */
  readonly disputed: boolean
  /** The buyer's payment was taken back. */
  readonly reversed: boolean
}

/** Live units that were accepted and paid within this time, of all buyers, oldest first. */
export const listSettledUnits = async (tx: Tx, span: SettledSpan<UnitCursor>): Promise<SettledUnit[]> => {
  const { after } = span
  const page = after
    ? sql`and (unit.ended_at, unit.agent_id, unit.order_id, unit.n)
        > (${after.at}::timestamptz, ${after.agentId}, ${after.orderId}, ${after.n}::int)`
    : sql``
  const { rows } = await sql<Omit<SettledUnit, 'position'> & UnitCursor>`
    select unit.ended_at::text as at, unit.agent_id as "agentId", unit.order_id as "orderId", unit.n,
      unit.price_usd_cents as "usdCents", unit.house_pays or placed.purpose <> 'buyer' as "paidByOperator",
      unit.rejected_at is not null as disputed, placed.category, done.worker, done.recorded_seconds as seconds,
      coalesce(done.flags, '{}') as flags,
      coalesce(earned.status = 'taken_back' or earned.flagged, false) as reversed
    from order_units unit
    cross join lateral (select purpose, terms ->> 'category' as category from orders
      where orders.agent_id = unit.agent_id and orders.mode = unit.mode and orders.order_id = unit.order_id
      limit 1) placed
    left join lateral (select worker, recorded_seconds, flags from assignments
      where assignments.agent_id = unit.agent_id and assignments.mode = unit.mode
        and assignments.order_id = unit.order_id and assignments.n = unit.n
        and assignments.status not in ('not_verified', 'returned', 'ran_out')
      limit 1) done on true
    left join lateral (select status, flagged from worker_earnings
      where worker_earnings.agent_id = unit.agent_id and worker_earnings.mode = unit.mode
        and worker_earnings.order_id = unit.order_id and worker_earnings.n = unit.n
      limit 1) earned on true
    where unit.status = 'accepted' and unit.mode = 'live'
      and unit.ended_at >= ${span.from} and unit.ended_at < ${span.to} ${page}
    order by unit.ended_at, unit.agent_id, unit.order_id, unit.n
    limit ${span.limit}`.execute(tx)
  return rows.map(({ at, agentId, orderId, n, ...unit }) => ({
    ...unit,
    position: { at, agentId, orderId, n },
  }))
}

type UnitKey = {
  readonly agentId: string
  readonly mode: string
  readonly orderId: string
  readonly n: number
}
/** The worker, the time and the category of each of these units, in the same order. */
export const listUnitWork = async (tx: Tx, units: readonly UnitKey[]): Promise<(Work | undefined)[]> => {
  const { rows } = await sql<Work & { readonly place: number }>`
    select key.place::int as place, done.worker, done.recorded_seconds as seconds, placed.category
    from unnest(${units.map(({ agentId }) => agentId)}::text[], ${units.map(({ mode }) => mode)}::text[],
      ${units.map(({ orderId }) => orderId)}::text[], ${units.map(({ n }) => n)}::int[])
      with ordinality key (agent_id, mode, order_id, n, place)
    cross join lateral (select terms ->> 'category' as category from orders
      where orders.agent_id = key.agent_id and orders.mode = key.mode and orders.order_id = key.order_id
      limit 1) placed
    cross join lateral (select worker, recorded_seconds from assignments
      where assignments.agent_id = key.agent_id and assignments.mode = key.mode
        and assignments.order_id = key.order_id and assignments.n = key.n
        and assignments.status not in ('not_verified', 'returned', 'ran_out')
      limit 1) done`.execute(tx)
  const byPlace = new Map(rows.map(({ place, ...work }) => [place, work]))
  return units.map((_, index) => byPlace.get(index + 1))
}
