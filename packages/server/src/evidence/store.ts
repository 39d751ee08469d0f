import { sql } from 'kysely'
import type { Mode } from '@pohf/protocol'
import { now, type Tx } from '../platform/db.ts'
import type { Place } from './rules.ts'

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
      expires_at: nonce.expiresAt,
    })
    .execute()
}

type NonceKey = { readonly agentId: string; readonly purpose: NoncePurpose; readonly nonce: string }
export const findNonce = async (tx: Tx, key: NonceKey) =>
  tx
    .selectFrom('nonces')
    .select(['message', 'wallet', 'member_ref', 'chain_id', 'used_at'])
    .select(sql<boolean>`expires_at <= pohf_now()`.as('expired'))
    .where('agent_id', '=', key.agentId)
    .where('purpose', '=', key.purpose)
    .where('nonce', '=', key.nonce)
    .executeTakeFirst()

/** Uses a nonce up; false where it was used or its time is over. */
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

/** Nonces a day past their time; the maintenance of the worker drops them. */
export const deleteOldNonces = async (tx: Tx): Promise<void> => {
  await sql`delete from nonces where expires_at < pohf_now() - interval '1 day'`.execute(tx)
}

type Photo = {
  readonly agentId: string
  readonly mode: Mode
  readonly hash: Buffer
  readonly sessionId: string
}
/** Claims a photo; false where it counted before. */
export const insertPhotoHash = async (tx: Tx, photo: Photo): Promise<boolean> => {
  const result = await tx
    .insertInto('photo_hashes')
    .values({
      scope: photo.mode === 'live' ? 'live' : photo.agentId,
      photo_hash: photo.hash,
      agent_id: photo.agentId,
      session_id: photo.sessionId,
    })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return result.numInsertedOrUpdatedRows === 1n
}

/** To about a kilometre. */
const coarse = ({ lat, lng, at }: Place & { at: Date }) => ({
  lat: Math.round(lat * 100) / 100,
  lng: Math.round(lng * 100) / 100,
  at,
})
type MemberKey = { readonly agentId: string; readonly mode: Mode; readonly memberRef: string }
/** Keeps a first place; false where the member has one, and then no other transaction changes it before this one ends. */
export const insertPresence = async (
  tx: Tx,
  key: MemberKey,
  place: Place & { at: Date },
): Promise<boolean> => {
  const result = await tx
    .insertInto('presences')
    .values({ agent_id: key.agentId, mode: key.mode, member_ref: key.memberRef, ...coarse(place) })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return result.numInsertedOrUpdatedRows === 1n
}

export const findPresence = async (tx: Tx, key: MemberKey): Promise<(Place & { at: Date }) | undefined> =>
  tx
    .selectFrom('presences')
    .select(['lat', 'lng', 'at'])
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('member_ref', '=', key.memberRef)
    .forUpdate()
    .executeTakeFirst()

export const updatePresence = async (tx: Tx, key: MemberKey, place: Place & { at: Date }): Promise<void> => {
  await tx
    .updateTable('presences')
    .set(coarse(place))
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('member_ref', '=', key.memberRef)
    .execute()
}
