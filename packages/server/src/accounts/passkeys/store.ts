import { sql } from 'kysely'
import { now, type Tx } from '../../platform/db/db.ts'
import type { NewPasskey } from '../../platform/sign-in/passkey.ts'
import { challengeMinutes, passkeysMax } from '../rules.ts'

/** `personId`: who adds a passkey; null for a sign-in. */
type Challenge = { readonly challenge: string; readonly personId: string | null }

export const insertChallenge = async (tx: Tx, { challenge, personId }: Challenge): Promise<void> => {
  await tx
    .insertInto('account_challenges')
    .values({
      challenge,
      person_id: personId,
      expires_at: sql<Date>`pohf_now() + make_interval(mins => ${challengeMinutes})`,
    })
    .execute()
}

/** Consumes a challenge; false where it is unknown, another's, used or expired. */
export const consumeChallenge = async (tx: Tx, { challenge, personId }: Challenge): Promise<boolean> => {
  const result = await tx
    .deleteFrom('account_challenges')
    .where('challenge', '=', challenge)
    .where(sql<boolean>`person_id is not distinct from ${personId}`)
    .where('expires_at', '>', now())
    .executeTakeFirst()
  return result.numDeletedRows === 1n
}

type StoredPasskey = NewPasskey & {
  readonly passkeyId: string
  readonly personId: string
  readonly name: string
}

/** False where the passkey is known already. */
export const insertPasskey = async (tx: Tx, passkey: StoredPasskey): Promise<boolean> => {
  const result = await tx
    .insertInto('account_passkeys')
    .values({
      passkey_id: passkey.passkeyId,
      credential_id: passkey.credentialId,
      person_id: passkey.personId,
      name: passkey.name,
      public_key: passkey.publicKey,
      counter: BigInt(passkey.counter),
    })
    .onConflict((conflict) => conflict.column('credential_id').doNothing())
    .executeTakeFirst()
  return result.numInsertedOrUpdatedRows === 1n
}

export const findPasskey = async (
  tx: Tx,
  credentialId: string,
): Promise<(NewPasskey & { readonly personId: string }) | undefined> => {
  const row = await tx
    .selectFrom('account_passkeys')
    .select(['credential_id', 'person_id', 'public_key', 'counter'])
    .where('credential_id', '=', credentialId)
    .executeTakeFirst()
  return (
    row && {
      credentialId: row.credential_id,
      personId: row.person_id,
      publicKey: row.public_key,
      counter: Number(row.counter),
    }
  )
}

export const listPasskeys = async (tx: Tx, personId: string) =>
  tx
    .selectFrom('account_passkeys')
    .select(['passkey_id', 'credential_id', 'name', 'created_at', 'used_at'])
    .where('person_id', '=', personId)
    .orderBy('created_at')
    .limit(passkeysMax)
    .execute()

/** Stores the signature counter; false if the passkey was removed, or if the counter neither increases nor stays zero. */
export const updatePasskeyUsed = async (tx: Tx, credentialId: string, counter: number): Promise<boolean> => {
  const result = await tx
    .updateTable('account_passkeys')
    .set({ counter: BigInt(counter), used_at: now() })
    .where('credential_id', '=', credentialId)
    .where((where) =>
      where.or([
        where('counter', '<', BigInt(counter)),
        where.and([where('counter', '=', 0n), where.val(counter === 0)]),
      ]),
    )
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}

export const deletePasskey = async (tx: Tx, personId: string, passkeyId: string): Promise<boolean> => {
  const result = await tx
    .deleteFrom('account_passkeys')
    .where('passkey_id', '=', passkeyId)
    .where('person_id', '=', personId)
    .executeTakeFirst()
  return result.numDeletedRows === 1n
}

export const deletePasskeysOf = async (tx: Tx, personId: string): Promise<void> => {
  await tx.deleteFrom('account_passkeys').where('person_id', '=', personId).execute()
}
