import { sql } from 'kysely'
import type { Mode } from '@pohf/protocol'
import type { Tx } from '../../../platform/db/db.ts'
import type { OrderKey } from '../../orders/store.ts'
import { findUnit, unitUpdate, type Unit, type UnitKeyRow } from '../store.ts'

/**
 * Claims the oldest open unit that this person may do. Locked units are skipped, so no claim waits for another.
 * `materialized` keeps it to one unit: inside a join the subquery may run for each row, and would claim one each time.
 * A person never gets the same item twice: a second opinion must come from another person. Whoever let a claim run out
 * does not get it again either, or one person could keep it from all others. Whoever reported a unit gets no other one of its
 * order.
 */
export const claimUnit = async (
  tx: Tx,
  request: { readonly taskId: string; readonly mode: Mode; readonly personId: string },
): Promise<Unit | undefined> => {
  const { rows } = await sql<Pick<UnitKeyRow, 'agent_id' | 'order_id' | 'n'>>`
    with candidate as materialized (
      select agent_id, mode, order_id, n from order_units open
      where task_id = ${request.taskId} and mode = ${request.mode} and status = 'open' and open_until > pohf_now()
        and (open_from is null or open_from <= pohf_now())
        and not exists (select from assignments had where had.person_id = ${request.personId}
          and had.order_id = open.order_id and had.agent_id = open.agent_id and had.mode = open.mode
          and ((had.item = open.item or had.n = open.n) and had.status <> 'returned' or had.reported_at is not null))
      order by created_at, order_id, n limit 1 for update skip locked)
    update order_units unit set status = 'claimed' from candidate
    where unit.agent_id = candidate.agent_id and unit.mode = candidate.mode and unit.order_id = candidate.order_id
      and unit.n = candidate.n
    returning unit.agent_id, unit.order_id, unit.n`.execute(tx)
  const [row] = rows
  return row && findUnit(tx, { agentId: row.agent_id, mode: request.mode, orderId: row.order_id, n: row.n })
}

/** Claims the unit of an order that has only one, in the transaction that makes the unit. */
export const claimOnlyUnit = async (tx: Tx, key: OrderKey): Promise<Unit | undefined> => {
  await unitUpdate(tx, { ...key, n: 1 })
    .set({ status: 'claimed' })
    .execute()
  return findUnit(tx, { ...key, n: 1 })
}

/** The open tasks for this person with their number of units, counted up to `countMax`. */
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
          and open.open_until > pohf_now() and (open.open_from is null or open.open_from <= pohf_now())
          and not exists (select from assignments had where had.person_id = ${request.personId}
            and had.order_id = open.order_id and had.agent_id = open.agent_id and had.mode = open.mode
            and ((had.item = open.item or had.n = open.n) and had.status <> 'returned' or had.reported_at is not null))
        order by created_at, order_id, n limit ${request.countMax}) few
    ) waiting
    where task.task_id is not null and waiting.available > 0 limit ${request.limit}`.execute(tx)
  return rows
}
