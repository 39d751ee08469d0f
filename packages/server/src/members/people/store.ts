import { sql, type Selectable } from 'kysely'
import { now, type Tx } from '../../platform/db/db.ts'
import type { DB } from '../../platform/db/schema.ts'
import { listSuspendedFrom } from '../../roots/index.ts'
import type { Passkey } from './passkeys.ts'

type Challenge = {
  readonly challenge: string
  readonly purpose: 'create' | 'sign_in' | 'confirm'
  readonly boundTo: string
}

export const insertChallenge = async (tx: Tx, challenge: Challenge, minutes: number): Promise<void> => {
  await tx
    .insertInto('passkey_challenges')
    .values({
      challenge: challenge.challenge,
      purpose: challenge.purpose,
      bound_to: challenge.boundTo,
      expires_at: sql<Date>`pohf_now() + make_interval(mins => ${minutes})`,
    })
    .execute()
}

/** Consumes a challenge; false when it is unknown, another's, used or expired. */
export const consumeChallenge = async (tx: Tx, challenge: Challenge): Promise<boolean> => {
  const result = await tx
    .deleteFrom('passkey_challenges')
    .where('challenge', '=', challenge.challenge)
    .where('purpose', '=', challenge.purpose)
    .where('bound_to', '=', challenge.boundTo)
    .where('expires_at', '>', now())
    .executeTakeFirst()
  return result.numDeletedRows === 1n
}

export const insertPerson = async (tx: Tx, personId: string): Promise<void> => {
  await tx.insertInto('people').values({ person_id: personId }).execute()
}

/** Serializes calls of one person. */
export const lockPerson = async (tx: Tx, personId: string): Promise<boolean> => {
  const row = await tx
    .selectFrom('people')
    .select('person_id')
    .where('person_id', '=', personId)
    .forUpdate()
    .executeTakeFirst()
  return row !== undefined
}

/** True when the passkey is new. */
export const insertPasskey = async (tx: Tx, personId: string, passkey: Passkey): Promise<boolean> => {
  const result = await tx
    .insertInto('person_passkeys')
    .values({
      credential_id: passkey.credentialId,
      person_id: personId,
      public_key: passkey.publicKey,
      counter: BigInt(passkey.counter),
      assurance: passkey.assurance,
      synced: passkey.synced,
      model: passkey.model ?? null,
    })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return result.numInsertedOrUpdatedRows === 1n
}

const passkeyColumns = [
  'credential_id',
  'person_id',
  'public_key',
  'counter',
  'assurance',
  'synced',
  'model',
  'created_at',
  'used_at',
] as const

type PasskeyRow = Pick<Selectable<DB['person_passkeys']>, (typeof passkeyColumns)[number]>

type KnownPasskey = Passkey & {
  readonly personId: string
  readonly createdAt: Date
  readonly usedAt: Date
}

const passkeyOf = (row: PasskeyRow): KnownPasskey => ({
  credentialId: row.credential_id,
  personId: row.person_id,
  publicKey: row.public_key,
  counter: Number(row.counter),
  assurance: row.assurance,
  synced: row.synced,
  model: row.model ?? undefined,
  createdAt: row.created_at,
  usedAt: row.used_at,
})

export const findPasskey = async (tx: Tx, credentialId: string): Promise<KnownPasskey | undefined> => {
  const row = await tx
    .selectFrom('person_passkeys')
    .select(passkeyColumns)
    .where('credential_id', '=', credentialId)
    .executeTakeFirst()
  return row && passkeyOf(row)
}

const passkeysMax = 20

export const listPasskeys = async (tx: Tx, personId: string): Promise<KnownPasskey[]> => {
  const rows = await tx
    .selectFrom('person_passkeys')
    .select(passkeyColumns)
    .where('person_id', '=', personId)
    .orderBy('created_at')
    .limit(passkeysMax)
    .execute()
  return rows.map(passkeyOf)
}

/** Stores the signature counter; false if the passkey was removed, or if the counter neither increases nor stays zero. */
export const updatePasskeyUsed = async (tx: Tx, credentialId: string, counter: number): Promise<boolean> => {
  const result = await tx
    .updateTable('person_passkeys')
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

export const insertRecoveryCodes = async (
  tx: Tx,
  personId: string,
  hashes: readonly Buffer[],
): Promise<void> => {
  await tx
    .insertInto('person_recovery_codes')
    .values(hashes.map((hash) => ({ code_hash: hash, person_id: personId })))
    .execute()
}

export const deleteRecoveryCodes = async (tx: Tx, personId: string): Promise<void> => {
  await tx.deleteFrom('person_recovery_codes').where('person_id', '=', personId).execute()
}

/** Consumes a recovery code; returns its person. */
export const consumeRecoveryCode = async (tx: Tx, hash: Buffer): Promise<string | undefined> => {
  const row = await tx
    .deleteFrom('person_recovery_codes')
    .where('code_hash', '=', hash)
    .returning('person_id')
    .executeTakeFirst()
  return row?.person_id
}

export const insertLogin = async (tx: Tx, personId: string, hash: Buffer, hours: number): Promise<void> => {
  await tx
    .insertInto('person_logins')
    .values({
      token_hash: hash,
      person_id: personId,
      expires_at: sql<Date>`pohf_now() + make_interval(hours => ${hours})`,
    })
    .execute()
}

export const findLogin = async (tx: Tx, hash: Buffer): Promise<string | undefined> => {
  const row = await tx
    .selectFrom('person_logins')
    .select('person_id')
    .where('token_hash', '=', hash)
    .where('expires_at', '>', now())
    .executeTakeFirst()
  return row?.person_id
}

export const deleteLogin = async (tx: Tx, hash: Buffer): Promise<void> => {
  await tx.deleteFrom('person_logins').where('token_hash', '=', hash).execute()
}

export const countRecoveryCodes = async (tx: Tx, personId: string): Promise<number> => {
  const row = await tx
    .selectFrom('person_recovery_codes')
    .select(({ fn }) => fn.countAll<bigint>().as('count'))
    .where('person_id', '=', personId)
    .executeTakeFirstOrThrow()
  return Number(row.count)
}

/** Erasure: the person, with every passkey, login and code. */
export const deletePerson = async (tx: Tx, personId: string): Promise<void> => {
  for (const table of [
    'person_passkeys',
    'person_logins',
    'person_recovery_codes',
    'person_proofs',
    'people',
  ] as const)
    await tx.deleteFrom(table).where('person_id', '=', personId).execute()
  await tx.deleteFrom('passkey_challenges').where('bound_to', '=', `person ${personId}`).execute()
}

type Proof = { readonly issuer: string; readonly hash: Buffer; readonly personId: string }

/** Stores a proof; returns the person it belongs to. */
export const insertProof = async (tx: Tx, proof: Proof): Promise<string> => {
  await tx
    .insertInto('person_proofs')
    .values({ issuer: proof.issuer, code_hash: proof.hash, person_id: proof.personId })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  const row = await tx
    .selectFrom('person_proofs')
    .select('person_id')
    .where('issuer', '=', proof.issuer)
    .where('code_hash', '=', proof.hash)
    .executeTakeFirstOrThrow(
      () =>
        new Error(
          `proof of issuer ${proof.issuer} for person ${proof.personId} not found after it was inserted`,
        ),
    )
  return row.person_id
}

export const listProofs = async (tx: Tx, personId: string) =>
  tx
    .selectFrom('person_proofs')
    .select(['issuer', 'at'])
    .where('person_id', '=', personId)
    .orderBy('issuer')
    .limit(10)
    .execute()

/** The keyed hashes of what external issuers call this person, by issuer. */
export const listProofCodes = async (tx: Tx, personId: string) =>
  tx
    .selectFrom('person_proofs')
    .select(['issuer', 'code_hash'])
    .where('person_id', '=', personId)
    .orderBy('issuer')
    .orderBy('code_hash')
    .limit(10)
    .execute()

type ProofRow = Selectable<DB['person_proofs']>
/** A proof that counts for an agent at a time. */
export type ValidProof = {
  /** The issuer as readers of a credential know it: its address or name. */
  readonly issuer: string
  /** The issuer's name in the settings, by which it is suspended. */
  readonly name: string
  readonly kind: ProofRow['kind']
  readonly class: ProofRow['source_class']
  readonly level: ProofRow['level']
  /** Whether the issuer counts each human once. */
  readonly counted: boolean
  /** Whether it is worth what the reader thinks of the issuer. */
  readonly named: boolean
  /** A keyed hash of the issuer's code of the human, the same for every agent; undefined where the issuer counts nobody. */
  readonly human: string | undefined
  readonly checkedAt: Date
  /** Whether it was shown for an act of the last minutes. */
  readonly fresh: boolean
}

/** How long a proof that was shown for an act is fresh: as long as its sign-in may take. */
const freshMs = 10 * 60_000

/**
 * The proofs of a person that count for this agent: not withdrawn, not expired, and not of an issuer that was suspended
 * before their check. It works in a transaction of any tenant.
 */
export const listValidProofs = async (
  tx: Tx,
  personId: string,
  { agentId, at }: { readonly agentId: string; readonly at: Date },
): Promise<ValidProof[]> => {
  const { rows } = await sql<ProofRow>`
    select issuer, code_hash, issuer_id, kind, source_class, level, counted, named, fresh, checked_at
    from members_list_proofs(${personId}, ${agentId}, ${at})`.execute(tx)
  const suspended = await listSuspendedFrom(
    tx,
    rows.map(({ kind, issuer }) => ({ kind, name: issuer })),
  )
  const counts = ({ kind, issuer, checked_at }: ProofRow): boolean =>
    !suspended.some(
      (root) =>
        root.kind === kind && root.name === issuer && (root.from === null || root.from <= checked_at),
    )
  return rows.filter(counts).map((row) => ({
    issuer: row.issuer_id,
    name: row.issuer,
    kind: row.kind,
    class: row.source_class,
    level: row.level,
    counted: row.counted,
    named: row.named,
    human: row.counted ? row.code_hash.toString('base64url') : undefined,
    checkedAt: row.checked_at,
    fresh: row.fresh && at.getTime() - row.checked_at.getTime() <= freshMs,
  }))
}

/** Deletes expired links, challenges and logins. */
export const deleteExpiredTokens = async (tx: Tx): Promise<void> => {
  await sql`delete from enrolment_links where expires_at < pohf_now() - interval '30 days'`.execute(tx)
  await sql`delete from passkey_challenges where expires_at < pohf_now()`.execute(tx)
  await sql`delete from person_logins where expires_at < pohf_now()`.execute(tx)
}

/** When these people enrolled for the first time. */
export const listPeopleCreated = async (
  tx: Tx,
  personIds: readonly string[],
): Promise<ReadonlyMap<string, Date>> => {
  if (personIds.length === 0) return new Map()
  const rows = await tx
    .selectFrom('people')
    .select(['person_id', 'created_at'])
    .where('person_id', 'in', [...new Set(personIds)])
    .execute()
  return new Map(rows.map((row) => [row.person_id, row.created_at]))
}

/** After a restore: a sign-in may have ended in the lost span, and a challenge may have been answered. */
export const voidSignIns = async (tx: Tx): Promise<number> => {
  await sql`delete from passkey_challenges`.execute(tx)
  const { numAffectedRows } = await sql`delete from person_logins`.execute(tx)
  return Number(numAffectedRows ?? 0)
}
