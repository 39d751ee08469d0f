import { now, type Tx } from '../platform/db/db.ts'
import { sql } from 'kysely'

type NewRequest = {
  readonly stateHash: Buffer
  readonly issuer: string
  readonly personId: string | null
  readonly sessionId: string | null
  readonly origin: string
  readonly minutes: number
}

export const insertRequest = async (tx: Tx, request: NewRequest): Promise<Date> => {
  const row = await tx
    .insertInto('issuer_requests')
    .values({
      state_hash: request.stateHash,
      issuer: request.issuer,
      person_id: request.personId,
      session_id: request.sessionId,
      origin: request.origin,
      expires_at: sql<Date>`pohf_now() + make_interval(mins => ${request.minutes})`,
    })
    .returning('expires_at')
    .executeTakeFirstOrThrow(
      () => new Error(`request to issuer ${request.issuer} not found after its insert`),
    )
  return row.expires_at
}

export const findRequest = async (tx: Tx, stateHash: Buffer) =>
  tx
    .selectFrom('issuer_requests')
    .select(['issuer', 'person_id', 'session_id', 'origin', 'used_at'])
    .select(sql<boolean>`expires_at <= pohf_now()`.as('expired'))
    .where('state_hash', '=', stateHash)
    .executeTakeFirst()

/** Marks a request as used; false where another call did. */
export const updateRequestUsed = async (tx: Tx, stateHash: Buffer): Promise<boolean> => {
  const result = await tx
    .updateTable('issuer_requests')
    .set({ used_at: now() })
    .where('state_hash', '=', stateHash)
    .where('used_at', 'is', null)
    .where('expires_at', '>', now())
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}

/** Erasure of a person. */
export const deleteRequests = async (tx: Tx, personId: string): Promise<void> => {
  await tx.deleteFrom('issuer_requests').where('person_id', '=', personId).execute()
}

/** Deletes requests two days after they began; run by the maintenance job. */
export const deleteOldRequests = async (tx: Tx): Promise<void> => {
  await sql`delete from issuer_requests where expires_at < pohf_now() - interval '2 days'`.execute(tx)
}

/** After a restore: a request may have been used in the lost span. */
export const voidRequests = async (tx: Tx): Promise<number> => {
  const { numAffectedRows } = await sql`delete from issuer_requests where expires_at > pohf_now()`.execute(tx)
  return Number(numAffectedRows ?? 0)
}
