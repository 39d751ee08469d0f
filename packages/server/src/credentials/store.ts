import { sql } from 'kysely'
import type { CredentialKind, Mode } from '@pohf/protocol'
import type { Tx } from '../platform/db.ts'
import type { CredentialState } from './status/rules.ts'

type Act = 'session' | 'personhood' | 'binding' | 'purchase'
export type ActKey = {
  readonly agentId: string
  readonly mode: Mode
  readonly act: Act
  readonly reference: string
}

export type Stored = {
  readonly credentialId: string
  readonly mintedAt: Date
  readonly expiresAt: Date
  readonly expired: boolean
  readonly state: CredentialState
  readonly jwt: string
  readonly answer: object
  readonly now: Date
}

/** The credential of an act, with its present state. */
export const findStored = async (tx: Tx, key: ActKey): Promise<Stored | undefined> => {
  const { rows } = await sql<{
    credential_id: string
    at: Date
    expires_at: Date
    expired: boolean
    state: Stored['state']
    jwt: string
    answer: object
    now: Date
  }>`
    select c.credential_id, c.at, c.expires_at, c.expires_at <= pohf_now() as expired, c.jwt, c.answer, pohf_now() as now,
      (select state from credential_states s where s.agent_id = c.agent_id and s.credential_id = c.credential_id
       order by seq desc limit 1) as state
    from credential_claims k
    join credentials c on c.agent_id = k.agent_id and c.credential_id = k.credential_id and c.at = k.at
    where k.agent_id = ${key.agentId} and k.mode = ${key.mode} and k.act = ${key.act} and k.reference = ${key.reference}`.execute(
    tx,
  )
  const row = rows[0]
  if (!row) return undefined
  const { credential_id: credentialId, at: mintedAt, expires_at: expiresAt, ...rest } = row
  return { credentialId, mintedAt, expiresAt, ...rest }
}

export type NewCredential = {
  readonly credentialId: string
  readonly kind: CredentialKind
  readonly at: Date
  readonly expiresAt: Date
  readonly jwt: string
  readonly answer: object
  readonly salt: Buffer | null
  readonly place: { readonly listId: string; readonly idx: number }
  /** A credential of the same act that this one follows; it must still be the one in place. */
  readonly replaces: string | undefined
}

/** Claims the act for this credential; false where another call was first. */
export const insertClaim = async (tx: Tx, key: ActKey, credential: NewCredential): Promise<boolean> => {
  const { numAffectedRows } = await sql`
    insert into credential_claims as claim (agent_id, mode, act, reference, credential_id, at, expires_at)
    values (${key.agentId}, ${key.mode}, ${key.act}, ${key.reference}, ${credential.credentialId}, ${credential.at}, ${credential.expiresAt})
    on conflict (agent_id, mode, act, reference) do update
      set credential_id = excluded.credential_id, at = excluded.at, expires_at = excluded.expires_at
      where claim.credential_id = ${credential.replaces ?? ''}`.execute(tx)
  return numAffectedRows === 1n
}

export const insertCredential = async (tx: Tx, key: ActKey, credential: NewCredential): Promise<void> => {
  await tx
    .insertInto('credentials')
    .values({
      agent_id: key.agentId,
      credential_id: credential.credentialId,
      at: credential.at,
      mode: key.mode,
      kind: credential.kind,
      expires_at: credential.expiresAt,
      jwt: credential.jwt,
      answer: JSON.stringify(credential.answer),
      salt: credential.salt,
      status_list: credential.place.listId,
      status_idx: credential.place.idx,
    })
    .execute()
  await insertState(tx, {
    agentId: key.agentId,
    credentialId: credential.credentialId,
    seq: 1,
    state: 'issued',
    reason: 'minted',
  })
}

type Erased = {
  readonly agentId: string
  readonly mode: Mode
  readonly memberId: string
  readonly sessionIds: readonly string[]
}
/**
 * Erasure: the salts that open the evidence, and whose act a credential was. The credentials themselves stay as they
 * were signed: they name the person by a code that nothing leads back from.
 */
export const forgetCredentials = async (tx: Tx, erased: Erased): Promise<void> => {
  const { agentId, mode, memberId, sessionIds } = erased
  await sql`
    with forgotten as (
      delete from credential_claims
      where agent_id = ${agentId} and mode = ${mode} and act = 'personhood'
        and (reference = ${memberId} or starts_with(reference, ${`${memberId} `}))
      returning credential_id, at
    ), sealed as (
      select credential_id, at from credential_claims
      where agent_id = ${agentId} and mode = ${mode} and act = 'session' and reference = any(${[...sessionIds]}::text[])
    )
    update credentials c set salt = null
    from (select * from forgotten union select * from sealed) f
    where c.agent_id = ${agentId} and c.credential_id = f.credential_id and c.at = f.at`.execute(tx)
  await tx
    .updateTable('payment_bindings')
    .set({ human_ref: 'erased' })
    .where('agent_id', '=', agentId)
    .where('mode', '=', mode)
    .where('human_ref', '=', memberId)
    .execute()
}

type NewState = {
  readonly agentId: string
  readonly credentialId: string
  readonly seq: number
  readonly state: Stored['state']
  readonly reason: string
}
export const insertState = async (tx: Tx, row: NewState): Promise<void> => {
  await tx
    .insertInto('credential_states')
    .values({
      agent_id: row.agentId,
      credential_id: row.credentialId,
      seq: row.seq,
      state: row.state,
      reason: row.reason,
    })
    .execute()
}

/** A credential by its id alone, for operators; locked, so that its steps come one after the other. */
export const findCredentialLocked = async (tx: Tx, credentialId: string) => {
  const row = await tx
    .selectFrom('credentials')
    .select(['agent_id', 'mode', 'status_list', 'status_idx'])
    .where('credential_id', '=', credentialId)
    .forUpdate()
    .executeTakeFirst()
  return (
    row && {
      agentId: row.agent_id,
      mode: row.mode as Mode,
      statusList: row.status_list,
      statusIdx: row.status_idx,
    }
  )
}

/** The present state. A statement of its own: asked together with the lock, it would be the state from before. */
export const findState = async (tx: Tx, agentId: string, credentialId: string) => {
  const row = await tx
    .selectFrom('credential_states')
    .select(['seq', 'state'])
    .where('agent_id', '=', agentId)
    .where('credential_id', '=', credentialId)
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirstOrThrow()
  return { seq: row.seq, state: row.state as CredentialState }
}

/** Binds a payment to a human; false where it is bound to another. */
export const insertPaymentBinding = async (
  tx: Tx,
  key: { agentId: string; mode: Mode; paymentRef: string },
  humanRef: string,
): Promise<boolean> => {
  const { rows } = await sql`
    insert into payment_bindings as bound (agent_id, mode, payment_ref, human_ref)
    values (${key.agentId}, ${key.mode}, ${key.paymentRef}, ${humanRef})
    on conflict (agent_id, mode, payment_ref) do update set human_ref = bound.human_ref
      where bound.human_ref = excluded.human_ref
    returning 1`.execute(tx)
  return rows.length === 1
}

/** Stored credentials of all tenants by time, for the comparison with the signer's journal. */
export const listStoredCredentials = async (
  tx: Tx,
  span: { readonly from: Date; readonly to: Date },
  limit: number,
): Promise<{ readonly credentialId: string; readonly jwt: string; readonly at: Date }[]> => {
  const rows = await tx
    .selectFrom('credentials')
    .select(['credential_id', 'jwt', 'at'])
    .where('at', '>=', span.from)
    .where('at', '<', span.to)
    .limit(limit)
    .execute()
  return rows.map(({ credential_id: credentialId, jwt, at }) => ({ credentialId, jwt, at }))
}
