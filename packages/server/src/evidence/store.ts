import { sql } from 'kysely'
import type { Mode } from '@pohf/protocol'
import { now, type Tx } from '../platform/db/db.ts'

type NoncePurpose = 'wallet' | 'attest'

type NewNonce = {
  readonly agentId: string
  readonly purpose: NoncePurpose
  readonly nonce: string
  readonly expiresAt: Date
  readonly message?: string
  readonly wallet?: string | undefined
  readonly memberRef?: string | undefined
  readonly chainId?: number | undefined
  /** The session whose key is part of the message. */
  readonly sessionId?: string | undefined
}

export const insertNonce = async (tx: Tx, nonce: NewNonce): Promise<void> => {
  await tx
    .insertInto('nonces')
    .values({
      agent_id: nonce.agentId,
      purpose: nonce.purpose,
      nonce: nonce.nonce,
      message: nonce.message ?? null,
      wallet: nonce.wallet ?? null,
      member_ref: nonce.memberRef ?? null,
      chain_id: nonce.chainId === undefined ? null : BigInt(nonce.chainId),
      session_id: nonce.sessionId ?? null,
      expires_at: nonce.expiresAt,
    })
    .execute()
}

type NonceKey = { readonly agentId: string; readonly purpose: NoncePurpose; readonly nonce: string }

export const findNonce = async (tx: Tx, key: NonceKey) =>
  tx
    .selectFrom('nonces')
    .select(['message', 'wallet', 'member_ref', 'chain_id', 'session_id', 'used_at'])
    .select(sql<boolean>`expires_at <= pohf_now()`.as('expired'))
    .where('agent_id', '=', key.agentId)
    .where('purpose', '=', key.purpose)
    .where('nonce', '=', key.nonce)
    .executeTakeFirst()

/** Consumes a nonce; false when it is used or expired. */
export const updateNonceUsed = async (tx: Tx, key: NonceKey): Promise<boolean> => {
  const result = await tx
    .updateTable('nonces')
    .set({ used_at: now() })
    .where('agent_id', '=', key.agentId)
    .where('purpose', '=', key.purpose)
    .where('nonce', '=', key.nonce)
    .where('used_at', 'is', null)
    .where('expires_at', '>', now())
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}

/** Deletes nonces a day after they expired; run by the maintenance job. */
export const deleteOldNonces = async (tx: Tx): Promise<void> => {
  await sql`delete from nonces where expires_at < pohf_now() - interval '1 day'`.execute(tx)
}

/** After a restore: a nonce may have been used in the lost span. */
export const voidNonces = async (tx: Tx): Promise<number> => {
  const { numAffectedRows } = await sql`delete from nonces where expires_at > pohf_now()`.execute(tx)
  return Number(numAffectedRows ?? 0)
}

/** Stored data of a member besides sessions: the last location and the devices. */
export const listMemberTraces = async (
  tx: Tx,
  member: { readonly agentId: string; readonly mode: Mode; readonly memberId: string },
) => {
  const { agentId, mode, memberId } = member
  const places = await tx
    .selectFrom('presences')
    .select(['lat', 'lng', 'at'])
    .where('agent_id', '=', agentId)
    .where('mode', '=', mode)
    .where('member_ref', '=', memberId)
    .execute()
  const devices = await tx
    .selectFrom('device_attestations')
    .select(['method', 'assurance', 'attested_at', 'expires_at'])
    .where('agent_id', '=', agentId)
    .where('mode', '=', mode)
    .where('subject_ref', '=', memberId)
    .execute()
  const deviceKeys = await tx
    .selectFrom('device_keys')
    .select(['method', 'key_id', 'counter', 'created_at'])
    .where('agent_id', '=', agentId)
    .where('mode', '=', mode)
    .where('subject_ref', '=', memberId)
    .limit(100)
    .execute()
  return {
    places,
    devices,
    deviceKeys: deviceKeys.map((key) => ({ ...key, counter: Number(key.counter) })),
  }
}

/** Erasure: the last location, the devices and the open nonces of a member and of its sessions. */
export const deleteMemberTraces = async (
  tx: Tx,
  member: { readonly agentId: string; readonly mode: Mode; readonly memberId: string },
  subjects: readonly string[],
): Promise<void> => {
  const { agentId, mode, memberId } = member
  await tx
    .deleteFrom('presences')
    .where('agent_id', '=', agentId)
    .where('mode', '=', mode)
    .where('member_ref', '=', memberId)
    .execute()
  await tx
    .deleteFrom('nonces')
    .where('agent_id', '=', agentId)
    .where('member_ref', 'in', [...subjects])
    .execute()
  for (const table of ['device_keys', 'device_attestations'] as const)
    await tx
      .deleteFrom(table)
      .where('agent_id', '=', agentId)
      .where('mode', '=', mode)
      .where('subject_ref', 'in', [...subjects])
      .execute()
}
