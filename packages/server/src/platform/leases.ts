import { sql, type RawBuilder } from 'kysely'
import type { Tx } from './db.ts'

/** A table whose rows are work: agent_id, an id, due_at and attempts. */
type Queue = {
  readonly table: string
  readonly id: string
  /** A further condition, such as the topic. */
  readonly only?: RawBuilder<unknown>
  readonly limit: number
  readonly leaseSeconds: number
}

/**
 * Claims due rows by pushing due_at behind a lease, and returns them. A worker that dies simply lets its lease
 * run out. `attempts` is the fencing number: whoever finishes a row names the number it claimed, so that a
 * worker that was only slow cannot overwrite its successor.
 */
export const claimDue = async <Row>(tx: Tx, queue: Queue): Promise<Row[]> => {
  const table = sql.table(queue.table)
  const id = sql.ref(queue.id)
  const only = queue.only ?? sql`true`
  const { rows } = await sql<Row>`
    update ${table} set due_at = pohf_now() + make_interval(secs => ${queue.leaseSeconds}), attempts = attempts + 1
    where (agent_id, ${id}) in (
      select agent_id, ${id} from ${table} where due_at <= pohf_now() and ${only}
      order by due_at limit ${queue.limit} for update skip locked)
    returning *`.execute(tx)
  return rows
}
