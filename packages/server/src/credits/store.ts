import { sql } from 'kysely'
import type { Mode } from '@pohf/protocol'
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

export type FreePlanPlace = {
  readonly kind: 'mail' | 'network' | 'wide_network'
  readonly tag: string
  readonly places: number
}
/** Claims one of the places; false where none is left. */
export const insertPlace = async (tx: Tx, agentId: string, place: FreePlanPlace): Promise<boolean> => {
  const { rows } = await sql<{ claimed: boolean }>`
    select credits_take_place(${place.kind}, ${place.tag}, ${agentId}, ${place.places}) as claimed`.execute(
    tx,
  )
  return rows[0]?.claimed === true
}

/** Counts one new free plan of this calendar month; false where the month has as many as it may have. */
export const updateMonthGranted = async (tx: Tx, plansMax: number): Promise<boolean> => {
  if (plansMax === 0) return false
  const row = await tx
    .insertInto('free_plan_months')
    .values({ month: sql<string>`to_char(pohf_now() at time zone 'UTC', 'YYYY-MM')`, granted: 1 })
    .onConflict((conflict) =>
      conflict
        .column('month')
        .doUpdateSet({ granted: sql<number>`free_plan_months.granted + 1` })
        .where('free_plan_months.granted', '<', plansMax),
    )
    .returning('granted')
    .executeTakeFirst()
  return row !== undefined
}

/** Undoes the claims of this transaction after a cap was reached. */
export const deleteGrant = async (tx: Tx, agentId: string): Promise<void> => {
  await tx.deleteFrom('free_plan_places').where('agent_id', '=', agentId).execute()
  await tx.deleteFrom('free_plan_grants').where('agent_id', '=', agentId).execute()
}

/**
 * Purchases, grants and reversals of an agent happen one after another: of two at once, one could leave a debt beside a
 * balance, and the ledger would not say which pack paid for what.
 */
export const lockCreditPostings = async (
  tx: Tx,
  book: { readonly agentId: string; readonly mode: Mode },
): Promise<void> => {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`credits ${book.agentId} ${book.mode}`}, 0))`.execute(
    tx,
  )
}
