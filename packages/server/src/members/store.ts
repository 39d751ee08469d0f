import { sql } from 'kysely'
import type { Mode } from '@pohf/protocol'
import { now, type Tx } from '../platform/db/db.ts'
import type { Passkey } from './people/passkeys.ts'
import type { PasskeyAssurance, Uniqueness } from './rules.ts'

export type MemberKey = { readonly agentId: string; readonly mode: Mode; readonly memberId: string }

const columns = [
  'agent_id',
  'mode',
  'member_id',
  'external_ref',
  'status',
  'person_id',
  'consent_ref',
  'uniqueness',
  'methods',
  'passkey_assurance',
  'attention_session',
  'attention_quality',
  'attention_scoring',
  'attention_at',
  'good_checks',
  'bad_checks',
  'created_at',
  'consented_at',
] as const
type Row = {
  agent_id: string
  mode: string
  member_id: string
  external_ref: string | null
  status: string
  person_id: string | null
  consent_ref: string | null
  uniqueness: string
  methods: string[]
  passkey_assurance: string | null
  attention_session: string | null
  attention_quality: number | null
  attention_scoring: string | null
  attention_at: Date | null
  good_checks: number
  bad_checks: number
  created_at: Date
  consented_at: Date | null
}
export type MemberRow = {
  readonly agentId: string
  readonly mode: Mode
  readonly memberId: string
  readonly externalRef: string | null
  readonly status: 'invited' | 'consented' | 'enrolled' | 'withdrawn'
  readonly personId: string | null
  readonly consentRef: string | null
  readonly uniqueness: Uniqueness
  readonly methods: readonly string[]
  readonly passkeyAssurance: PasskeyAssurance | null
  readonly attention: {
    readonly sessionId: string
    readonly quality: number
    readonly scoring: string
    readonly at: Date
  } | null
  readonly good: number
  readonly bad: number
  readonly createdAt: Date
  readonly consentedAt: Date | null
}
const memberOf = (row: Row): MemberRow => ({
  agentId: row.agent_id,
  mode: row.mode as Mode,
  memberId: row.member_id,
  externalRef: row.external_ref,
  status: row.status as MemberRow['status'],
  personId: row.person_id,
  consentRef: row.consent_ref,
  uniqueness: row.uniqueness as Uniqueness,
  methods: row.methods,
  passkeyAssurance: row.passkey_assurance as PasskeyAssurance | null,
  attention:
    row.attention_session === null || row.attention_at === null
      ? null
      : {
          sessionId: row.attention_session,
          quality: row.attention_quality ?? 0,
          scoring: row.attention_scoring ?? '',
          at: row.attention_at,
        },
  good: row.good_checks,
  bad: row.bad_checks,
  createdAt: row.created_at,
  consentedAt: row.consented_at,
})

/** Makes a member, or gives the one that the agent named so before. */
export const insertMember = async (
  tx: Tx,
  key: MemberKey,
  externalRef: string | undefined,
): Promise<MemberRow> => {
  await tx
    .insertInto('members')
    .values({
      agent_id: key.agentId,
      mode: key.mode,
      member_id: key.memberId,
      external_ref: externalRef ?? null,
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  const row = await tx
    .selectFrom('members')
    .select(columns)
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where((where) =>
      externalRef === undefined
        ? where('member_id', '=', key.memberId)
        : where('external_ref', '=', externalRef),
    )
    .executeTakeFirstOrThrow()
  return memberOf(row)
}

export const findMember = async (tx: Tx, key: MemberKey): Promise<MemberRow | undefined> => {
  const row = await tx
    .selectFrom('members')
    .select(columns)
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('member_id', '=', key.memberId)
    .executeTakeFirst()
  return row && memberOf(row)
}

type MemberPage = {
  readonly agentId: string
  readonly mode: Mode
  readonly after: string | undefined
  readonly limit: number
}
/** Newest first: ids begin with their time. */
export const listMembers = async (tx: Tx, page: MemberPage): Promise<MemberRow[]> => {
  let query = tx
    .selectFrom('members')
    .select(columns)
    .where('agent_id', '=', page.agentId)
    .where('mode', '=', page.mode)
  if (page.after !== undefined) query = query.where('member_id', '<', page.after)
  const rows = await query.orderBy('member_id', 'desc').limit(page.limit).execute()
  return rows.map(memberOf)
}

const membershipsMax = 1_000
export const listMemberships = async (tx: Tx, personId: string): Promise<MemberRow[]> => {
  const rows = await tx
    .selectFrom('members')
    .select(columns)
    .where('person_id', '=', personId)
    .orderBy('member_id')
    .limit(membershipsMax)
    .execute()
  return rows.map(memberOf)
}

type NewLink = { readonly hash: Buffer; readonly days: number }
export const insertEnrolmentLink = async (tx: Tx, key: MemberKey, link: NewLink): Promise<Date> => {
  const row = await tx
    .insertInto('enrolment_links')
    .values({
      token_hash: link.hash,
      agent_id: key.agentId,
      mode: key.mode,
      member_id: key.memberId,
      expires_at: sql<Date>`pohf_now() + make_interval(days => ${link.days})`,
    })
    .returning('expires_at')
    .executeTakeFirstOrThrow()
  return row.expires_at
}

/** Whom a link invites; undefined where it is unknown or too old. */
export const findEnrolmentLink = async (tx: Tx, hash: Buffer): Promise<MemberKey | undefined> => {
  const row = await tx
    .selectFrom('enrolment_links')
    .select(['agent_id', 'mode', 'member_id'])
    .where('token_hash', '=', hash)
    .where('expires_at', '>', now())
    .executeTakeFirst()
  return row && { agentId: row.agent_id, mode: row.mode as Mode, memberId: row.member_id }
}

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
/** Uses a challenge up; false where it is unknown, another's, used or too old. */
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
/** Makes calls of one person wait for each other. */
export const lockPerson = async (tx: Tx, personId: string): Promise<boolean> => {
  const row = await tx
    .selectFrom('people')
    .select('person_id')
    .where('person_id', '=', personId)
    .forUpdate()
    .executeTakeFirst()
  return row !== undefined
}

/** True where the passkey is new. */
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
  'created_at',
  'used_at',
] as const
type PasskeyRow = {
  credential_id: string
  person_id: string
  public_key: Buffer
  counter: bigint
  assurance: string
  synced: boolean
  created_at: Date
  used_at: Date
}
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
  assurance: row.assurance as PasskeyAssurance,
  synced: row.synced,
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
/** Moves the count on; false where another call did, or where it stands still and is not one that never counts. */
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
/** Uses a recovery code up, and names its person. */
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

type Consent = {
  readonly act: 'given' | 'withdrawn'
  readonly version: string
  readonly language: string
}
export const insertConsent = async (tx: Tx, consentRef: string, consent: Consent): Promise<void> => {
  await sql`
    insert into consents (consent_ref, seq, act, version, language)
    select ${consentRef}, coalesce(max(seq), 0) + 1, ${consent.act}, ${consent.version}, ${consent.language}
    from consents where consent_ref = ${consentRef}`.execute(tx)
}

type ConsentUpdate = {
  readonly personId: string
  readonly consentRef: string
  readonly status: 'consented' | 'enrolled'
}
export const updateMemberConsented = async (tx: Tx, key: MemberKey, given: ConsentUpdate): Promise<void> => {
  await tx
    .updateTable('members')
    .set({
      person_id: given.personId,
      consent_ref: given.consentRef,
      status: given.status,
      consented_at: now(),
    })
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('member_id', '=', key.memberId)
    .execute()
}

type MemberAssurance = {
  readonly uniqueness: Uniqueness
  readonly methods: readonly string[]
  readonly passkeyAssurance: PasskeyAssurance | null
}
/** Writes what the person's passkeys are worth to every agent that knows the person. */
export const updateMemberAssurance = async (
  tx: Tx,
  personId: string,
  memberAssurance: MemberAssurance,
): Promise<void> => {
  await tx
    .updateTable('members')
    .set({
      uniqueness: memberAssurance.uniqueness,
      methods: [...memberAssurance.methods],
      passkey_assurance: memberAssurance.passkeyAssurance,
    })
    .where('person_id', '=', personId)
    .execute()
}

/** Uses a session up as an attention check; false where it was one before. */
export const insertAttentionCheck = async (tx: Tx, key: MemberKey, sessionId: string): Promise<boolean> => {
  const result = await tx
    .insertInto('member_attention')
    .values({ agent_id: key.agentId, mode: key.mode, session_id: sessionId, member_id: key.memberId })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return result.numInsertedOrUpdatedRows === 1n
}

type AttentionCheck = {
  readonly sessionId: string
  readonly quality: number
  readonly scoring: string
  readonly at: Date
}
export const updateMemberCheckPassed = async (
  tx: Tx,
  key: MemberKey,
  checked: AttentionCheck,
): Promise<void> => {
  await tx
    .updateTable('members')
    .set({
      status: 'enrolled',
      attention_session: checked.sessionId,
      attention_quality: checked.quality,
      attention_scoring: checked.scoring,
      attention_at: checked.at,
      good_checks: sql<number>`good_checks + 1`,
    })
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('member_id', '=', key.memberId)
    .execute()
}
export const updateMemberCheckFailed = async (tx: Tx, key: MemberKey): Promise<void> => {
  await tx
    .updateTable('members')
    .set({ bad_checks: sql<number>`bad_checks + 1` })
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('member_id', '=', key.memberId)
    .execute()
}

export const updateMemberWithdrawn = async (tx: Tx, key: MemberKey): Promise<void> => {
  await tx
    .updateTable('members')
    .set({ status: 'withdrawn' })
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('member_id', '=', key.memberId)
    .execute()
}

export const listConsents = async (tx: Tx, consentRef: string) =>
  tx
    .selectFrom('consents')
    .select(['act', 'version', 'language', 'at'])
    .where('consent_ref', '=', consentRef)
    .orderBy('seq', 'desc')
    .limit(100)
    .execute()

export const countRecoveryCodes = async (tx: Tx, personId: string): Promise<number> => {
  const row = await tx
    .selectFrom('person_recovery_codes')
    .select(({ fn }) => fn.countAll<bigint>().as('count'))
    .where('person_id', '=', personId)
    .executeTakeFirstOrThrow()
  return Number(row.count)
}

/** Erasure: the membership with its links and checks. */
export const deleteMember = async (tx: Tx, key: MemberKey): Promise<void> => {
  for (const table of ['enrolment_links', 'member_attention', 'members'] as const)
    await tx
      .deleteFrom(table)
      .where('agent_id', '=', key.agentId)
      .where('mode', '=', key.mode)
      .where('member_id', '=', key.memberId)
      .execute()
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
/** Keeps a proof, and says whose it is. */
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
    .executeTakeFirstOrThrow()
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

/** True where nobody did this act before as this human. */
export const insertNullifier = async (tx: Tx, nullifier: Buffer): Promise<boolean> => {
  const result = await tx
    .insertInto('nullifiers')
    .values({ nullifier })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return result.numInsertedOrUpdatedRows === 1n
}

/** Links, challenges and logins past their time. */
export const deleteExpiredTokens = async (tx: Tx): Promise<void> => {
  await sql`delete from enrolment_links where expires_at < pohf_now() - interval '30 days'`.execute(tx)
  await sql`delete from passkey_challenges where expires_at < pohf_now()`.execute(tx)
  await sql`delete from person_logins where expires_at < pohf_now()`.execute(tx)
}
