import { sql, type Selectable } from 'kysely'
import { now, type Tx } from '../platform/db/db.ts'
import type { DB } from '../platform/db/schema.ts'

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

/** Serializes the sign-in of a human with what their directory says of them. */
export const lockHuman = async (tx: Tx, issuer: string, codeHash: Buffer): Promise<void> => {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`${issuer} ${codeHash.toString('hex')}`}, 0))`.execute(
    tx,
  )
}

const userColumns = ['user_id', 'code_hash', 'state'] as const
export type UserRow = Pick<Selectable<DB['issuer_users']>, (typeof userColumns)[number]>

export const findUser = async (tx: Tx, issuer: string, userId: string): Promise<UserRow | undefined> =>
  tx
    .selectFrom('issuer_users')
    .select(userColumns)
    .where('issuer', '=', issuer)
    .where('user_id', '=', userId)
    .executeTakeFirst()

export const findUserByCode = async (
  tx: Tx,
  issuer: string,
  codeHash: Buffer,
): Promise<UserRow | undefined> =>
  tx
    .selectFrom('issuer_users')
    .select(userColumns)
    .where('issuer', '=', issuer)
    .where('code_hash', '=', codeHash)
    .executeTakeFirst()

/** Names may be given to another person after a deletion: the one who is there counts. */
export const findUserByName = async (
  tx: Tx,
  issuer: string,
  nameHash: Buffer,
): Promise<UserRow | undefined> =>
  tx
    .selectFrom('issuer_users')
    .select(userColumns)
    .where('issuer', '=', issuer)
    .where('name_hash', '=', nameHash)
    .orderBy(sql`state = 'deleted'`)
    .orderBy('changed_at', 'desc')
    .limit(1)
    .executeTakeFirst()

type NewUser = { readonly issuer: string; readonly codeHash: Buffer; readonly nameHash: Buffer }
export const insertUser = async (tx: Tx, { issuer, codeHash, nameHash }: NewUser): Promise<UserRow> =>
  tx
    .insertInto('issuer_users')
    .values({
      issuer,
      user_id: tx.ids.make('isu_'),
      code_hash: codeHash,
      name_hash: nameHash,
      state: 'active',
    })
    .returning(userColumns)
    .executeTakeFirstOrThrow(() => new Error(`person of issuer ${issuer} not found after the insert`))

export const updateUserName = async (
  tx: Tx,
  issuer: string,
  userId: string,
  nameHash: Buffer,
): Promise<void> => {
  await tx
    .updateTable('issuer_users')
    .set({ name_hash: nameHash, changed_at: now() })
    .where('issuer', '=', issuer)
    .where('user_id', '=', userId)
    .execute()
}

export const updateUserState = async (
  tx: Tx,
  issuer: string,
  userId: string,
  state: UserRow['state'],
): Promise<void> => {
  await tx
    .updateTable('issuer_users')
    .set({ state, changed_at: now() })
    .where('issuer', '=', issuer)
    .where('user_id', '=', userId)
    .execute()
}
