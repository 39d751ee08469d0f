import { sql, type Selectable } from 'kysely'
import type { Mode } from '@pohf/protocol'
import { now, type Tx } from '../../platform/db/db.ts'
import type { DB } from '../../platform/db/schema.ts'
import type { PasskeyAssurance, Uniqueness } from '../rules.ts'

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
  'invited_by_owner',
  'required_issuer',
] as const

type Row = Pick<Selectable<DB['members']>, (typeof columns)[number]>

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
  /** An owner of the account invited the person to approve actions of the agent. No key gets a link for this member. */
  readonly invitedByOwner: boolean
  /** The outside issuer without whose valid proof the person decides nothing. */
  readonly requiredIssuer: string | null
}

const memberOf = (row: Row): MemberRow => ({
  agentId: row.agent_id,
  mode: row.mode,
  memberId: row.member_id,
  externalRef: row.external_ref,
  status: row.status,
  personId: row.person_id,
  consentRef: row.consent_ref,
  uniqueness: row.uniqueness,
  methods: row.methods,
  passkeyAssurance: row.passkey_assurance,
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
  invitedByOwner: row.invited_by_owner,
  requiredIssuer: row.required_issuer,
})

type NewMember = { readonly externalRef: string | undefined; readonly invitedByOwner: boolean }
/** Creates a member, or returns the one with this external reference. */
export const insertMember = async (
  tx: Tx,
  key: MemberKey,
  { externalRef, invitedByOwner }: NewMember,
): Promise<MemberRow> => {
  await tx
    .insertInto('members')
    .values({
      agent_id: key.agentId,
      mode: key.mode,
      member_id: key.memberId,
      external_ref: externalRef ?? null,
      invited_by_owner: invitedByOwner,
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
    .executeTakeFirstOrThrow(
      () => new Error(`member ${key.memberId} of agent ${key.agentId} not found after it was inserted`),
    )
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

/** Which of these members of an agent have consented, so that they have a person with a passkey. */
export const listConsentedMembers = async (
  tx: Tx,
  { agentId, mode }: Pick<MemberKey, 'agentId' | 'mode'>,
  memberIds: readonly string[],
): Promise<ReadonlySet<string>> => {
  const rows = await tx
    .selectFrom('members')
    .select('member_id')
    .where('agent_id', '=', agentId)
    .where('mode', '=', mode)
    .where('member_id', '=', sql<string>`any(${memberIds}::text[])`)
    .where('person_id', 'is not', null)
    .where('status', 'in', ['consented', 'enrolled'])
    .execute()
  return new Set(rows.map((row) => row.member_id))
}

/** The issuers with which these members of an agent have to sign in; members without one are left out. */
export const listRequiredIssuers = async (
  tx: Tx,
  { agentId, mode }: Pick<MemberKey, 'agentId' | 'mode'>,
  memberIds: readonly string[],
): Promise<ReadonlyMap<string, string>> => {
  const rows = await tx
    .selectFrom('members')
    .select(['member_id', 'required_issuer'])
    .where('agent_id', '=', agentId)
    .where('mode', '=', mode)
    .where('member_id', '=', sql<string>`any(${memberIds}::text[])`)
    .where('required_issuer', 'is not', null)
    .execute()
  return new Map(rows.map((row) => [row.member_id, row.required_issuer ?? '']))
}

/** Sets with which outside issuer the person has to sign in; null for none. */
export const updateMemberRequiredIssuer = async (
  tx: Tx,
  key: MemberKey,
  issuer: string | null,
): Promise<void> => {
  await tx
    .updateTable('members')
    .set({ required_issuer: issuer })
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('member_id', '=', key.memberId)
    .execute()
}

/** Locks a member until the end of the transaction: a withdrawal or an erasure waits. */
export const lockMember = async (tx: Tx, key: MemberKey): Promise<void> => {
  await tx
    .selectFrom('members')
    .select('member_id')
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('member_id', '=', key.memberId)
    .forShare()
    .execute()
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

/** The member that a link invites; undefined when it is unknown or expired. */
export const findEnrolmentLink = async (tx: Tx, hash: Buffer): Promise<MemberKey | undefined> => {
  const row = await tx
    .selectFrom('enrolment_links')
    .select(['agent_id', 'mode', 'member_id'])
    .where('token_hash', '=', hash)
    .where('expires_at', '>', now())
    .executeTakeFirst()
  return row && { agentId: row.agent_id, mode: row.mode, memberId: row.member_id }
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

export const updateMemberConsented = async (tx: Tx, key: MemberKey, update: ConsentUpdate): Promise<void> => {
  await tx
    .updateTable('members')
    .set({
      person_id: update.personId,
      consent_ref: update.consentRef,
      status: update.status,
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

/** Writes uniqueness, methods and passkey assurance to the memberships of a person at one agent. */
export const updateMemberAssurance = async (
  tx: Tx,
  { personId, agentId }: { readonly personId: string; readonly agentId: string },
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
    .where('agent_id', '=', agentId)
    .execute()
}

/** Counts a session as an attention check; false when it was counted before. */
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

/** True when this human has not done this action before. */
export const insertNullifier = async (tx: Tx, nullifier: Buffer): Promise<boolean> => {
  const result = await tx
    .insertInto('nullifiers')
    .values({ nullifier })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return result.numInsertedOrUpdatedRows === 1n
}
