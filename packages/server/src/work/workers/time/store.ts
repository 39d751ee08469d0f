import { sql } from 'kysely'
import type { Mode } from '@pohf/protocol'
import type { Tx } from '../../../platform/db/db.ts'
import { measuredUnitsMin, simulatedWorker } from '../../units/rules.ts'

/** The latest accepted units of a workflow that its usual time is taken from. */
const unitsMax = 50
/** The latest units of a person that their own time is taken from. */
const historyMax = 500

export const updateRecordedSeconds = async (tx: Tx, assignmentId: string, seconds: number): Promise<void> => {
  await tx
    .updateTable('assignments')
    .set({ recorded_seconds: seconds })
    .where('assignment_id', '=', assignmentId)
    .execute()
}

/** The median time of the latest accepted units of each task; a task of which too few were measured is left out. */
export const findMedianSeconds = async (
  tx: Tx,
  mode: Mode,
  taskIds: readonly string[],
): Promise<ReadonlyMap<string, number>> => {
  const { rows } = await sql<{ taskId: string; seconds: number }>`
    select requested.task_id as "taskId", recent.seconds
    from unnest(${[...taskIds]}::text[]) requested (task_id)
    cross join lateral (
      select percentile_cont(0.5) within group (order by done.recorded_seconds) as seconds, count(*) as units
      from (select recorded_seconds from assignments
        where assignments.task_id = requested.task_id and assignments.mode = ${mode} and status = 'accepted'
          and recorded_seconds is not null
        order by assignment_id desc limit ${unitsMax}) done) recent
    where recent.units >= ${measuredUnitsMin}`.execute(tx)
  return new Map(rows.map(({ taskId, seconds }) => [taskId, seconds]))
}

/** How long the latest units of a task took from payment to answer; null where too few were answered. */
export const findAnswerTime = async (
  tx: Tx,
  mode: Mode,
  taskId: string,
): Promise<{ readonly expectedSeconds: number | null; readonly measuredUnits: number }> => {
  const { rows } = await sql<{ seconds: number | null; units: number }>`
    select percentile_cont(0.5) within group (order by seconds) as seconds, count(*)::int as units
    from (select extract(epoch from delivered_at - created_at) as seconds from order_units
      where task_id = ${taskId} and mode = ${mode} and delivered_at is not null
        and worker_ref is distinct from ${sql.lit(simulatedWorker)}
      order by delivered_at desc limit ${unitsMax}) latest`.execute(tx)
  const { seconds, units } = rows[0] ?? { seconds: null, units: 0 }
  const isMeasured = seconds !== null && units >= measuredUnitsMin
  return { expectedSeconds: isMeasured ? Math.round(seconds) : null, measuredUnits: units }
}

type MeasuredWork = { readonly units: number; readonly stars: number; readonly seconds: number }
/** The Stars of a person that have a measured time, and that time, of their latest units; undefined where none has. */
export const findMeasuredWork = async (
  tx: Tx,
  personId: string,
  mode: Mode,
): Promise<MeasuredWork | undefined> => {
  const { rows } = await sql<MeasuredWork>`
    select count(*)::int as units, sum(paid.stars)::int as stars, sum(done.recorded_seconds)::int as seconds
    from (select agent_id, mode, order_id, n, status, recorded_seconds from assignments where person_id = ${personId}
      order by assignment_id desc limit ${historyMax}) done
    cross join lateral (select earned.stars from worker_earnings earned
      where earned.agent_id = done.agent_id and earned.mode = done.mode and earned.order_id = done.order_id
        and earned.n = done.n and earned.status <> 'taken_back' limit 1) paid
    where done.mode = ${mode} and done.status = 'accepted' and done.recorded_seconds is not null
    having count(*) > 0`.execute(tx)
  return rows[0]
}
