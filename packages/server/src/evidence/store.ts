import { sql } from 'kysely'
import type { Mode } from '@pohf/protocol'
import { now, type Tx } from '../platform/db.ts'
import type { DeviceAssurance, DeviceKey } from './attestation.ts'
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

type MemberKey = { readonly agentId: string; readonly mode: Mode; readonly memberRef: string }
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
  const rounded = {
    lat: Math.round(place.lat * 100) / 100,
    lng: Math.round(place.lng * 100) / 100,
    at: place.at,
  }
  await tx
    .insertInto('presences')
    .values({ agent_id: key.agentId, mode: key.mode, member_ref: key.memberRef, ...rounded })
    .onConflict((conflict) => conflict.columns(['agent_id', 'mode', 'member_ref']).doUpdateSet(rounded))
    .execute()
}

type DeviceOwner = {
  readonly agentId: string
  readonly mode: Mode
  readonly method: string
  readonly subjectRef: string
}
export const findDeviceKey = async (
  tx: Tx,
  owner: DeviceOwner,
  keyId: string,
): Promise<DeviceKey | undefined> => {
  const row = await tx
    .selectFrom('device_keys')
    .select(['public_key', 'counter', 'assurance'])
    .where('agent_id', '=', owner.agentId)
    .where('mode', '=', owner.mode)
    .where('method', '=', owner.method)
    .where('key_id', '=', keyId)
    .where('subject_ref', '=', owner.subjectRef)
    .executeTakeFirst()
  return (
    row && {
      keyId,
      publicKey: row.public_key,
      counter: Number(row.counter),
      assurance: row.assurance as DeviceAssurance,
    }
  )
}

/** True where the key is new. */
export const insertDeviceKey = async (tx: Tx, owner: DeviceOwner, key: DeviceKey): Promise<boolean> => {
  const result = await tx
    .insertInto('device_keys')
    .values({
      agent_id: owner.agentId,
      mode: owner.mode,
      method: owner.method,
      key_id: key.keyId,
      subject_ref: owner.subjectRef,
      public_key: key.publicKey,
      counter: BigInt(key.counter),
      assurance: key.assurance,
    })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return result.numInsertedOrUpdatedRows === 1n
}

/** Moves the counter of this subject's key on; false where it is another's, or stands there already. Some never count. */
export const updateDeviceCounter = async (tx: Tx, owner: DeviceOwner, key: DeviceKey): Promise<boolean> => {
  const result = await tx
    .updateTable('device_keys')
    .set({ counter: BigInt(key.counter) })
    .where('agent_id', '=', owner.agentId)
    .where('mode', '=', owner.mode)
    .where('method', '=', owner.method)
    .where('key_id', '=', key.keyId)
    .where('subject_ref', '=', owner.subjectRef)
    .where((where) =>
      where.or([
        where('counter', '<', BigInt(key.counter)),
        where.and([where('counter', '=', 0n), where.val(key.counter === 0)]),
      ]),
    )
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}

export const updateDeviceAttestation = async (
  tx: Tx,
  owner: DeviceOwner,
  attestation: { readonly assurance: DeviceAssurance; readonly days: number },
): Promise<void> => {
  const fresh = {
    assurance: attestation.assurance,
    attested_at: now(),
    expires_at: sql<Date>`pohf_now() + make_interval(days => ${attestation.days})`,
  }
  await tx
    .insertInto('device_attestations')
    .values({
      agent_id: owner.agentId,
      mode: owner.mode,
      subject_ref: owner.subjectRef,
      method: owner.method,
      ...fresh,
    })
    .onConflict((conflict) =>
      conflict.columns(['agent_id', 'mode', 'subject_ref', 'method']).doUpdateSet(fresh),
    )
    .execute()
}

export type Device = {
  readonly method: string
  readonly assurance: Exclude<DeviceAssurance, 'none'>
  readonly attestedAt: Date
}
/** The best attestation that speaks now for one of these subjects; undefined where none does. */
export const findDevice = async (
  tx: Tx,
  key: { readonly agentId: string; readonly mode: Mode; readonly subjects: readonly string[] },
): Promise<Device | undefined> => {
  if (key.subjects.length === 0) return undefined
  const row = await tx
    .selectFrom('device_attestations')
    .select(['method', 'assurance', 'attested_at'])
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('subject_ref', 'in', [...key.subjects])
    .where('expires_at', '>', now())
    .orderBy(sql`array_position(array['hardware_strong', 'hardware', 'software'], assurance)`)
    .orderBy('attested_at', 'desc')
    .executeTakeFirst()
  return (
    row && {
      method: row.method,
      assurance: row.assurance as Device['assurance'],
      attestedAt: row.attested_at,
    }
  )
}

/** Attestations whose time is over. */
export const deleteOldAttestations = async (tx: Tx): Promise<void> => {
  await sql`delete from device_attestations where expires_at < pohf_now()`.execute(tx)
}
