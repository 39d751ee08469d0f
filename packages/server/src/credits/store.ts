import { sql } from 'kysely'
import { now, type Tx } from '../platform/db/db.ts'

/** The database's time, and whether the agent has the free plan, in one query. */
export const findFreePlan = async (tx: Tx, agentId: string): Promise<{ at: Date; granted: boolean }> => {
  const row = await tx
    .selectNoFrom((select) => [
      now().as('at'),
      select
        .exists(select.selectFrom('free_plan_grants').select('agent_id').where('agent_id', '=', agentId))
        .as('granted'),
    ])
    .executeTakeFirstOrThrow()
  return { at: row.at, granted: Boolean(row.granted) }
}

/** True where this call grants it; a concurrent call of the same agent waits for this transaction. */
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
/** Claims one of the places; false where none is left. */
export const insertPlace = async (tx: Tx, place: FreePlanPlace): Promise<boolean> => {
  const { rows } = await sql<{ claimed: boolean }>`
    select credits_take_place(${place.kind}, ${place.tag}, ${place.agentId}, ${place.places}) as claimed`.execute(
    tx,
  )
  return rows[0]?.claimed === true
}

/** Undoes the claims of this transaction after a cap was reached. */
export const deleteGrant = async (tx: Tx, agentId: string): Promise<void> => {
  await tx.deleteFrom('free_plan_places').where('agent_id', '=', agentId).execute()
  await tx.deleteFrom('free_plan_grants').where('agent_id', '=', agentId).execute()
}
