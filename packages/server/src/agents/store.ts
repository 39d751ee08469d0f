import { sql } from 'kysely'
import {
  attestationSettings,
  type AttestationSettings,
  type CredentialPolicy,
  type Mode,
  type Scope,
} from '@pohf/protocol'
import { now, type Tx } from '../platform/db/db.ts'
import type { MailTokenPurpose } from './rules.ts'

type NewAgent = {
  agentId: string
  mode: Mode
  name: string
  contactEmail: string
  mailDomain: string
  networkTag: string
  wideNetworkTag: string | null
}
const agentValues = (agent: NewAgent) => ({
  agent_id: agent.agentId,
  mode: agent.mode,
  name: agent.name,
  contact_email: agent.contactEmail,
  mail_domain: agent.mailDomain,
  network_tag: agent.networkTag,
  wide_network_tag: agent.wideNetworkTag,
})
export const insertAgent = async (tx: Tx, agent: NewAgent): Promise<void> => {
  await tx.insertInto('agents').values(agentValues(agent)).execute()
}

/** Does not change an existing row. */
export const insertAgentIfAbsent = async (tx: Tx, agent: NewAgent): Promise<void> => {
  await tx
    .insertInto('agents')
    .values(agentValues(agent))
    .onConflict((conflict) => conflict.column('agent_id').doNothing())
    .execute()
}

export const agentColumns = [
  'agent_id',
  'mode',
  'name',
  'contact_email',
  'email_confirmed_at',
  'allowed_origins',
  'attestation',
  'policy',
  'created_at',
  'suspended_at',
] as const

export const findAgent = async (tx: Tx, agentId: string) =>
  tx.selectFrom('agents').select(agentColumns).where('agent_id', '=', agentId).executeTakeFirst()

export const findEmailConfirmed = async (tx: Tx, agentId: string): Promise<boolean> => {
  const row = await tx
    .selectFrom('agents')
    .select('email_confirmed_at')
    .where('agent_id', '=', agentId)
    .executeTakeFirst()
  return row !== undefined && row.email_confirmed_at !== null
}

/** The mail address of an agent, where its owner has confirmed it. */
export const findConfirmedContactEmail = async (tx: Tx, agentId: string): Promise<string | undefined> => {
  const row = await tx
    .selectFrom('agents')
    .select('contact_email')
    .where('agent_id', '=', agentId)
    .where('email_confirmed_at', 'is not', null)
    .executeTakeFirst()
  return row?.contact_email
}

/** The mail address and networks of a registration, by which the free plan is capped. */
export const findRegistrationOrigin = async (
  tx: Tx,
  agentId: string,
): Promise<{ contactEmail: string; networkTag: string; wideNetworkTag: string | null } | undefined> => {
  const row = await tx
    .selectFrom('agents')
    .select(['contact_email', 'network_tag', 'wide_network_tag'])
    .where('agent_id', '=', agentId)
    .executeTakeFirst()
  return (
    row && {
      contactEmail: row.contact_email,
      networkTag: row.network_tag,
      wideNetworkTag: row.wide_network_tag,
    }
  )
}

/** The attestation settings of an agent: the apps and sites whose devices are accepted. */
export const findAttestationSettings = async (tx: Tx, agentId: string): Promise<AttestationSettings> => {
  const row = await tx
    .selectFrom('agents')
    .select('attestation')
    .where('agent_id', '=', agentId)
    .executeTakeFirstOrThrow(
      () => new Error(`agent ${agentId} not found while reading its attestation settings`),
    )
  return attestationSettings.parse(row.attestation)
}

export const findPolicy = async (tx: Tx, agentId: string): Promise<CredentialPolicy> => {
  const row = await tx
    .selectFrom('agents')
    .select('policy')
    .where('agent_id', '=', agentId)
    .executeTakeFirstOrThrow(() => new Error(`agent ${agentId} not found while reading its policy`))
  return row.policy
}

/** The name of an agent that is not suspended. */
export const findName = async (tx: Tx, agentId: string): Promise<string | undefined> => {
  const row = await tx
    .selectFrom('agents')
    .select('name')
    .where('agent_id', '=', agentId)
    .where('suspended_at', 'is', null)
    .executeTakeFirst()
  return row?.name
}

/** The mode of an agent that is not suspended; undefined where there is none. */
export const findMode = async (tx: Tx, agentId: string): Promise<Mode | undefined> => {
  const row = await tx
    .selectFrom('agents')
    .select('mode')
    .where('agent_id', '=', agentId)
    .where('suspended_at', 'is', null)
    .executeTakeFirst()
  return row?.mode
}

/** The mode and allowed origins of an agent that is not suspended; undefined where there is none. No origins means any. */
export const findSite = async (
  tx: Tx,
  agentId: string,
): Promise<{ mode: Mode; allowedOrigins: readonly string[] } | undefined> => {
  const row = await tx
    .selectFrom('agents')
    .select(['mode', 'allowed_origins'])
    .where('agent_id', '=', agentId)
    .where('suspended_at', 'is', null)
    .executeTakeFirst()
  return row && { mode: row.mode, allowedOrigins: row.allowed_origins }
}

export const listConfirmedAgentsByEmail = async (tx: Tx, contactEmail: string, limit: number) =>
  tx
    .selectFrom('agents')
    .select(agentColumns)
    .where('contact_email', '=', contactEmail)
    .where('email_confirmed_at', 'is not', null)
    .where('suspended_at', 'is', null)
    .orderBy('agent_id', 'desc')
    .limit(limit)
    .execute()

export type AgentChange = {
  readonly name?: string | undefined
  readonly allowedOrigins?: string[] | undefined
  readonly attestation?: AttestationSettings | undefined
  readonly policy?: CredentialPolicy | undefined
}
export const updateAgent = async (tx: Tx, agentId: string, change: AgentChange): Promise<void> => {
  if (Object.values(change).every((value) => value === undefined)) return
  await tx
    .updateTable('agents')
    .set({
      ...(change.name === undefined ? {} : { name: change.name }),
      ...(change.allowedOrigins === undefined ? {} : { allowed_origins: change.allowedOrigins }),
      ...(change.attestation === undefined ? {} : { attestation: JSON.stringify(change.attestation) }),
      ...(change.policy === undefined ? {} : { policy: JSON.stringify(change.policy) }),
    })
    .where('agent_id', '=', agentId)
    .execute()
}

/** True where this call confirmed it, false where it was confirmed before. */
export const updateEmailConfirmed = async (tx: Tx, agentId: string): Promise<boolean> => {
  const result = await tx
    .updateTable('agents')
    .set({ email_confirmed_at: now() })
    .where('agent_id', '=', agentId)
    .where('email_confirmed_at', 'is', null)
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}

export const updateSuspended = async (tx: Tx, agentId: string, suspended: boolean): Promise<boolean> => {
  const result = await tx
    .updateTable('agents')
    .set({ suspended_at: suspended ? now() : null })
    .where('agent_id', '=', agentId)
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}

type NewKey = { agentId: string; keyId: string; hash: Buffer; hint: string; scopes: readonly Scope[] }
export const insertKey = async (tx: Tx, key: NewKey): Promise<void> => {
  await tx
    .insertInto('api_keys')
    .values({ agent_id: key.agentId, key_id: key.keyId, hint: key.hint, scopes: [...key.scopes] })
    .execute()
  await tx
    .insertInto('api_key_hashes')
    .values({ key_hash: key.hash, agent_id: key.agentId, key_id: key.keyId })
    .execute()
}

const callerColumns = [
  'agents.agent_id',
  'agents.mode',
  'agents.suspended_at',
  'agents.rate_per_minute',
  'agents.policy',
] as const

/** The agent of a console token. */
export const findCaller = async (tx: Tx, agentId: string) =>
  tx.selectFrom('agents').select(callerColumns).where('agent_id', '=', agentId).executeTakeFirst()

/** The key with its agent, by the hash of the key's text. */
export const findKeyByHash = async (tx: Tx, hash: Buffer) =>
  tx
    .selectFrom('api_key_hashes')
    .innerJoin('api_keys', (join) =>
      join
        .onRef('api_keys.agent_id', '=', 'api_key_hashes.agent_id')
        .onRef('api_keys.key_id', '=', 'api_key_hashes.key_id'),
    )
    .innerJoin('agents', 'agents.agent_id', 'api_key_hashes.agent_id')
    .select(callerColumns)
    .select(['api_keys.key_id', 'api_keys.scopes', 'api_keys.expires_at', 'api_keys.revoked_at'])
    .select([
      sql<Date>`pohf_now()`.as('at'),
      sql<boolean>`coalesce(api_keys.last_used_at < pohf_now() - interval '1 minute', true)`.as('use_unseen'),
    ])
    .where('api_key_hashes.key_hash', '=', hash)
    .executeTakeFirst()

export const updateKeyUsed = async (tx: Tx, agentId: string, keyId: string): Promise<void> => {
  await tx
    .updateTable('api_keys')
    .set({ last_used_at: now() })
    .where('agent_id', '=', agentId)
    .where('key_id', '=', keyId)
    .execute()
}

export const listKeys = async (tx: Tx, agentId: string) =>
  tx
    .selectFrom('api_keys')
    .select(['key_id', 'hint', 'scopes', 'created_at', 'expires_at', 'revoked_at', 'last_used_at'])
    .where('agent_id', '=', agentId)
    .orderBy('key_id', 'desc')
    .limit(100)
    .execute()

export const findKeyScopes = async (tx: Tx, agentId: string, keyId: string): Promise<Scope[] | undefined> => {
  const row = await tx
    .selectFrom('api_keys')
    .select('scopes')
    .where('agent_id', '=', agentId)
    .where('key_id', '=', keyId)
    .executeTakeFirst()
  return row?.scopes
}

/** Serializes calls of one agent, so that two concurrent calls cannot pass a limit together. */
const lockAgent = async (tx: Tx, agentId: string): Promise<void> => {
  await tx.selectFrom('agents').select('agent_id').where('agent_id', '=', agentId).forNoKeyUpdate().execute()
}

/** Counts the agent's usable keys; locks the agent. */
export const countUsableKeys = async (tx: Tx, agentId: string): Promise<number> => {
  await lockAgent(tx, agentId)
  const row = await tx
    .selectFrom('api_keys')
    .select(({ fn }) => fn.countAll<bigint>().as('count'))
    .where('agent_id', '=', agentId)
    .where('revoked_at', 'is', null)
    .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', now())]))
    .executeTakeFirstOrThrow()
  return Number(row.count)
}

/** Sets the old key's expiry and successor; undefined where it was replaced before. */
export const updateKeyReplaced = async (
  tx: Tx,
  agentId: string,
  keyId: string,
  replacement: { by: string; overlapSeconds: number },
): Promise<Date | undefined> => {
  const row = await tx
    .updateTable('api_keys')
    .set({
      replaced_by: replacement.by,
      expires_at: sql<Date>`pohf_now() + make_interval(secs => ${replacement.overlapSeconds})`,
    })
    .where('agent_id', '=', agentId)
    .where('key_id', '=', keyId)
    .where('replaced_by', 'is', null)
    .where('revoked_at', 'is', null)
    .returning('expires_at')
    .executeTakeFirst()
  return row?.expires_at ?? undefined
}

export const updateKeyRevoked = async (tx: Tx, agentId: string, keyId: string): Promise<boolean> => {
  const result = await tx
    .updateTable('api_keys')
    .set({ revoked_at: sql<Date>`coalesce(revoked_at, pohf_now())` })
    .where('agent_id', '=', agentId)
    .where('key_id', '=', keyId)
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}

export const updateAllKeysRevoked = async (tx: Tx, agentId: string): Promise<string[]> => {
  await lockAgent(tx, agentId)
  const rows = await tx
    .updateTable('api_keys')
    .set({ revoked_at: now() })
    .where('agent_id', '=', agentId)
    .where('revoked_at', 'is', null)
    .returning('key_id')
    .execute()
  return rows.map((row) => row.key_id)
}

type NewToken = { hash: Buffer; agentId: string; purpose: MailTokenPurpose; validSeconds: number }
export const insertMailToken = async (tx: Tx, token: NewToken): Promise<void> => {
  await tx
    .insertInto('mail_tokens')
    .values({
      token_hash: token.hash,
      agent_id: token.agentId,
      purpose: token.purpose,
      expires_at: sql<Date>`pohf_now() + make_interval(secs => ${token.validSeconds})`,
    })
    .execute()
}

/** Marks a token as used and returns its agent; undefined where it is unknown, used or expired. */
export const updateMailTokenUsed = async (
  tx: Tx,
  hash: Buffer,
  purpose: MailTokenPurpose,
): Promise<string | undefined> => {
  const row = await tx
    .updateTable('mail_tokens')
    .set({ used_at: now() })
    .where('token_hash', '=', hash)
    .where('purpose', '=', purpose)
    .where('used_at', 'is', null)
    .where('expires_at', '>', now())
    .returning('agent_id')
    .executeTakeFirst()
  return row?.agent_id
}

/** Counts mails of this purpose to this agent in the last hour, whatever network asked for them; locks the agent. */
export const countRecentMailTokens = async (
  tx: Tx,
  agentId: string,
  purpose: MailTokenPurpose,
  validSeconds: number,
): Promise<number> => {
  await lockAgent(tx, agentId)
  const row = await tx
    .selectFrom('mail_tokens')
    .select(({ fn }) => fn.countAll<bigint>().as('count'))
    .where('agent_id', '=', agentId)
    .where('purpose', '=', purpose)
    .where('expires_at', '>', sql<Date>`pohf_now() + make_interval(secs => ${validSeconds - 3_600})`)
    .executeTakeFirstOrThrow()
  return Number(row.count)
}

/** Deletes tokens that expired a month ago; called by the maintenance job. */
export const deleteOldMailTokens = async (tx: Tx): Promise<void> => {
  await sql`delete from mail_tokens where expires_at < pohf_now() - interval '30 days'`.execute(tx)
}
