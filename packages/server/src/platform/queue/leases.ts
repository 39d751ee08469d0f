import { sql, type RawBuilder } from 'kysely'
import type { Tx } from '../db/db.ts'

/** A queue table: agent_id, an id, due_at and attempts. */
type Queue = {
  readonly table: string
  readonly id: string
  /** A further condition, such as the topic. */
  readonly condition?: RawBuilder<unknown>
  readonly limit: number
  readonly leaseSeconds: number
}

/**
 * Claims due rows by moving due_at to the end of a lease, and returns them. The lease of a worker that crashed runs out.
 * `attempts` is the fencing token: a worker settles a row by the number that it claimed, so that a slow worker cannot
 * overwrite its successor.
 */
export const claimDue = async <Row>(tx: Tx, queue: Queue): Promise<Row[]> => {
  const table = sql.table(queue.table)
  const id = sql.ref(queue.id)
  const only = queue.condition ?? sql`true`
  const { rows } = await sql<Row>`
    update ${table} set due_at = pohf_now() + make_interval(secs => ${queue.leaseSeconds}), attempts = attempts + 1
    where (agent_id, ${id}) in (
      select agent_id, ${id} from ${table} where due_at <= pohf_now() and ${only}
      order by due_at limit ${queue.limit} for update skip locked)
    returning *`.execute(tx)
  return rows
}
