import { createHash } from 'node:crypto'
import { sql, type Selectable } from 'kysely'
import { now, type Tx } from '../../platform/db/db.ts'
import type { DB } from '../../platform/db/schema.ts'
import { listSuspendedFrom } from '../../roots/index.ts'
import type { Passkey } from './passkeys.ts'
import type { ValidProof } from './valid-proof.ts'

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

type ProofRow = Selectable<DB['person_proofs']>
type NewProof = {
  readonly issuer: string
  readonly issuerId: string
  readonly codeHash: Buffer
  readonly personId: string
  readonly kind: ProofRow['kind']
  readonly sourceClass: ProofRow['source_class']
  readonly level: ProofRow['level']
  readonly counted: boolean
  readonly named: boolean
  readonly fresh: boolean
  readonly model: string | null
  readonly agents: string[] | null
  readonly checkedAt: Date
  readonly expiresAt: Date
  readonly evidenceHash: Buffer
}

/** Stores a proof, or renews the one of this human where it is this person's; returns the person it belongs to. */
export const upsertProof = async (tx: Tx, proof: NewProof): Promise<string> => {
  const shown = {
    issuer_id: proof.issuerId,
    kind: proof.kind,
    source_class: proof.sourceClass,
    level: proof.level,
    counted: proof.counted,
    named: proof.named,
    fresh: proof.fresh,
    model: proof.model,
    agents: proof.agents,
    checked_at: proof.checkedAt,
    expires_at: proof.expiresAt,
    evidence_hash: proof.evidenceHash,
    withdrawn_at: null,
  }
  await tx
    .insertInto('person_proofs')
    .values({ issuer: proof.issuer, code_hash: proof.codeHash, person_id: proof.personId, ...shown })
    .onConflict((conflict) =>
      conflict
        .columns(['issuer', 'code_hash'])
        .doUpdateSet(shown)
        .where('person_proofs.person_id', '=', proof.personId),
    )
    .execute()
  const row = await tx
    .selectFrom('person_proofs')
    .select('person_id')
    .where('issuer', '=', proof.issuer)
    .where('code_hash', '=', proof.codeHash)
    .executeTakeFirstOrThrow(
      () =>
        new Error(
          `proof of issuer ${proof.issuer} for person ${proof.personId} not found after it was inserted`,
        ),
    )
  return row.person_id
}

const proofsMax = 10

/** Every proof of a person, those that no longer count too. */
export const listProofs = async (tx: Tx, personId: string) =>
  tx
    .selectFrom('person_proofs')
    .select([
      'issuer',
      'issuer_id',
      'kind',
      'source_class',
      'level',
      'counted',
      'checked_at',
      'expires_at',
      'withdrawn_at',
    ])
    .select(sql<boolean>`expires_at > pohf_now() and withdrawn_at is null`.as('counts_now'))
    .where('person_id', '=', personId)
    .orderBy('issuer')
    .orderBy('code_hash')
    .limit(proofsMax)
    .execute()

/** What became of the proofs that an issuer gave about a person: whether one was withdrawn, and until when one counts. */
export const findProofState = async (
  tx: Tx,
  personId: string,
  issuer: string,
): Promise<{ readonly isWithdrawn: boolean; readonly until: Date | null }> => {
  const rows = await tx
    .selectFrom('person_proofs')
    .select(['withdrawn_at', 'expires_at'])
    .where('person_id', '=', personId)
    .where('issuer', '=', issuer)
    .orderBy('checked_at', 'desc')
    .limit(proofsMax)
    .execute()
  const valid = rows.filter((row) => row.withdrawn_at === null).map((row) => row.expires_at)
  return { isWithdrawn: rows.length > 0 && valid.length === 0, until: valid[0] ?? null }
}

/** The keyed hashes of what outside issuers that count humans call this person, by issuer. */
export const listProofCodes = async (tx: Tx, personId: string) =>
  tx
    .selectFrom('person_proofs')
    .select(['issuer', 'code_hash'])
    .where('person_id', '=', personId)
    .where('counted', '=', true)
    .orderBy('issuer')
    .orderBy('code_hash')
    .limit(proofsMax)
    .execute()

/** What stays of a counted proof after an erasure: nobody finds it without the key of the codes and the code. */
const tombstone = (issuer: string, codeHash: Buffer): Buffer =>
  createHash('sha256').update(issuer).update('\0').update(codeHash).digest()

/** Keeps the codes of a person who is erased, so that the same human is no second person for the life of the proofs. */
export const insertTombstones = async (tx: Tx, personId: string, days: number): Promise<void> => {
  const proofs = await tx
    .selectFrom('person_proofs')
    .select(['issuer', 'code_hash'])
    .select(sql<Date>`greatest(expires_at, pohf_now() + make_interval(days => ${days}))`.as('until'))
    .where('person_id', '=', personId)
    .where('counted', '=', true)
    .execute()
  if (days === 0 || proofs.length === 0) return
  await tx
    .insertInto('proof_tombstones')
    .values(
      proofs.map((proof) => ({
        code_hash: tombstone(proof.issuer, proof.code_hash),
        expires_at: proof.until,
      })),
    )
    .onConflict((conflict) =>
      conflict.column('code_hash').doUpdateSet({
        expires_at: sql<Date>`greatest(proof_tombstones.expires_at, excluded.expires_at)`,
      }),
    )
    .execute()
}

export const hasTombstone = async (tx: Tx, issuer: string, codeHash: Buffer): Promise<boolean> => {
  const row = await tx
    .selectFrom('proof_tombstones')
    .select('expires_at')
    .where('code_hash', '=', tombstone(issuer, codeHash))
    .where('expires_at', '>', now())
    .executeTakeFirst()
  return row !== undefined
}

/** An issuer takes its word back, for this human; returns the person. */
export const updateProofWithdrawn = async (
  tx: Tx,
  issuer: string,
  codeHash: Buffer,
): Promise<string | undefined> => {
  const row = await tx
    .updateTable('person_proofs')
    .set({ withdrawn_at: now() })
    .where('issuer', '=', issuer)
    .where('code_hash', '=', codeHash)
    .where('withdrawn_at', 'is', null)
    .returning('person_id')
    .executeTakeFirst()
  return row?.person_id
}

/** An issuer is removed: every proof that it gave is withdrawn. Its proofs live a day, so there are few. */
export const withdrawProofsOf = async (tx: Tx, issuer: string): Promise<void> => {
  await tx
    .updateTable('person_proofs')
    .set({ withdrawn_at: now() })
    .where('issuer', '=', issuer)
    .where('withdrawn_at', 'is', null)
    .execute()
}

/** Deletes tombstones that are over, and expired proofs that count nobody: no later proof replaces these. */
export const deleteOldProofs = async (tx: Tx): Promise<void> => {
  await sql`delete from proof_tombstones where expires_at < pohf_now()`.execute(tx)
  await sql`
    delete from person_proofs where not counted and expires_at < pohf_now() - interval '30 days'`.execute(tx)
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
      (root) => root.kind === kind && root.name === issuer && (root.from === null || root.from <= checked_at),
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
