import { sql } from 'kysely'
import { now, type Tx } from '../../platform/db/db.ts'
import type { NewPasskey } from '../../platform/sign-in/passkey.ts'
import { challengeMinutes, passkeysMax } from '../rules.ts'

/** For an operator who adds a passkey, or for a sign-in in the browser whose cookie has this hash. */
type ChallengeUse = { readonly operatorId: string } | { readonly browserHash: Buffer }
const operatorIdOf = (use: ChallengeUse) => ('operatorId' in use ? use.operatorId : null)
const browserHashOf = (use: ChallengeUse) => ('browserHash' in use ? use.browserHash : null)

export const insertChallenge = async (tx: Tx, challenge: string, use: ChallengeUse): Promise<void> => {
  await tx
    .insertInto('operator_challenges')
    .values({
      challenge,
      operator_id: operatorIdOf(use),
      browser_hash: browserHashOf(use),
      expires_at: sql<Date>`pohf_now() + make_interval(mins => ${challengeMinutes})`,
    })
    .execute()
}

/** Consumes a challenge; false where it is unknown, used, expired, or of another operator or browser. */
export const consumeChallenge = async (tx: Tx, challenge: string, use: ChallengeUse): Promise<boolean> => {
  const result = await tx
    .deleteFrom('operator_challenges')
    .where('challenge', '=', challenge)
    .where(sql<boolean>`operator_id is not distinct from ${operatorIdOf(use)}`)
    .where(sql<boolean>`browser_hash is not distinct from ${browserHashOf(use)}`)
    .where('expires_at', '>', now())
    .executeTakeFirst()
  return result.numDeletedRows === 1n
}

type StoredPasskey = NewPasskey & {
  readonly passkeyId: string
  readonly operatorId: string
  readonly name: string
}

/** False where the passkey is known already. */
export const insertPasskey = async (tx: Tx, passkey: StoredPasskey): Promise<boolean> => {
  const result = await tx
    .insertInto('operator_passkeys')
    .values({
      passkey_id: passkey.passkeyId,
      credential_id: passkey.credentialId,
      operator_id: passkey.operatorId,
      name: passkey.name,
      public_key: passkey.publicKey,
      counter: BigInt(passkey.counter),
    })
    .onConflict((conflict) => conflict.column('credential_id').doNothing())
    .executeTakeFirst()
  return result.numInsertedOrUpdatedRows === 1n
}

type FoundPasskey = NewPasskey & { readonly passkeyId: string; readonly operatorId: string }
export const findPasskey = async (tx: Tx, credentialId: string): Promise<FoundPasskey | undefined> => {
  const row = await tx
    .selectFrom('operator_passkeys')
    .select(['passkey_id', 'credential_id', 'operator_id', 'public_key', 'counter'])
    .where('credential_id', '=', credentialId)
    .executeTakeFirst()
  return (
    row && {
      passkeyId: row.passkey_id,
      credentialId: row.credential_id,
      operatorId: row.operator_id,
      publicKey: row.public_key,
      counter: Number(row.counter),
    }
  )
}

export const listPasskeys = async (tx: Tx, operatorId: string) =>
  tx
    .selectFrom('operator_passkeys')
    .select(['passkey_id', 'credential_id', 'name', 'created_at', 'used_at'])
    .where('operator_id', '=', operatorId)
    .orderBy('created_at')
    .limit(passkeysMax)
    .execute()

/** Stores the signature counter; false if the passkey was removed, or if the counter neither increases nor stays zero. */
export const updatePasskeyUsed = async (tx: Tx, passkeyId: string, counter: number): Promise<boolean> => {
  const result = await tx
    .updateTable('operator_passkeys')
    .set({ counter: BigInt(counter), used_at: now() })
    .where('passkey_id', '=', passkeyId)
    .where((where) =>
      where.or([
        where('counter', '<', BigInt(counter)),
        where.and([where('counter', '=', 0n), where.val(counter === 0)]),
      ]),
    )
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}

/** False where the operator has no such passkey. */
export const deletePasskey = async (tx: Tx, operatorId: string, passkeyId: string): Promise<boolean> => {
  const result = await tx
    .deleteFrom('operator_passkeys')
    .where('passkey_id', '=', passkeyId)
    .where('operator_id', '=', operatorId)
    .executeTakeFirst()
  return result.numDeletedRows === 1n
}

/** Deletes the passkeys of an operator, and the challenges for further ones. */
export const deletePasskeysOf = async (tx: Tx, operatorId: string): Promise<void> => {
  await tx.deleteFrom('operator_passkeys').where('operator_id', '=', operatorId).execute()
  await tx.deleteFrom('operator_challenges').where('operator_id', '=', operatorId).execute()
}
