import { sql } from 'kysely'
import { now, type Tx } from '../platform/db/db.ts'

/** The database's time, and whether the agent holds the free plan, in one look. */
export const findFreePlan = async (tx: Tx, agentId: string): Promise<{ at: Date; held: boolean }> => {
  const row = await tx
    .selectNoFrom((select) => [
      now().as('at'),
      select
        .exists(select.selectFrom('free_plan_grants').select('agent_id').where('agent_id', '=', agentId))
        .as('held'),
    ])
    .executeTakeFirstOrThrow()
  return { at: row.at, held: Boolean(row.held) }
}

/** True where this call grants it; a call of the same agent at the same time waits for this one's end. */
export const insertGrant = async (tx: Tx, agentId: string): Promise<boolean> => {
  const row = await tx
    .insertInto('free_plan_grants')
    .values({ agent_id: agentId, mode: 'live' })
    .onConflict((conflict) => conflict.doNothing())
    .returning('agent_id')
    .executeTakeFirst()
  return row !== undefined
}

type FreePlanPlace = { kind: 'mail' | 'network'; tag: string; agentId: string; places: number }
/** Takes one of so many places; false where all are taken. */
export const insertPlace = async (tx: Tx, place: FreePlanPlace): Promise<boolean> => {
  const { rows } = await sql<{ taken: boolean }>`
    select credits_take_place(${place.kind}, ${place.tag}, ${place.agentId}, ${place.places}) as taken`.execute(
    tx,
  )
  return rows[0]?.taken === true
}

/** Gives back what this transaction took before it found that a cap is reached. */
export const deleteGrant = async (tx: Tx, agentId: string): Promise<void> => {
  await tx.deleteFrom('free_plan_places').where('agent_id', '=', agentId).execute()
  await tx.deleteFrom('free_plan_grants').where('agent_id', '=', agentId).execute()
}
