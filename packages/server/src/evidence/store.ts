import { sql } from 'kysely'
import type { Mode } from '@pohf/protocol'
import { now, type Tx } from '../platform/db/db.ts'
import type { AttestedAssurance, DeviceKey } from './devices/attestation.ts'
import type { GeoPoint } from './rules.ts'

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
const roundToKilometre = ({ lat, lng, at }: GeoPoint & { at: Date }) => ({
  lat: Math.round(lat * 100) / 100,
  lng: Math.round(lng * 100) / 100,
  at,
})
type MemberKey = { readonly agentId: string; readonly mode: Mode; readonly memberRef: string }
/** Keeps a first place; false where the member has one, and then no other transaction changes it before this one ends. */
export const insertPresence = async (
  tx: Tx,
  key: MemberKey,
  location: GeoPoint & { at: Date },
): Promise<boolean> => {
  const result = await tx
    .insertInto('presences')
    .values({
      agent_id: key.agentId,
      mode: key.mode,
      member_ref: key.memberRef,
      ...roundToKilometre(location),
    })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return result.numInsertedOrUpdatedRows === 1n
}

export const findPresence = async (tx: Tx, key: MemberKey): Promise<(GeoPoint & { at: Date }) | undefined> =>
  tx
    .selectFrom('presences')
    .select(['lat', 'lng', 'at'])
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('member_ref', '=', key.memberRef)
    .forUpdate()
    .executeTakeFirst()

export const updatePresence = async (
  tx: Tx,
  key: MemberKey,
  location: GeoPoint & { at: Date },
): Promise<void> => {
  await tx
    .updateTable('presences')
    .set(roundToKilometre(location))
    .where('agent_id', '=', key.agentId)
    .where('mode', '=', key.mode)
    .where('member_ref', '=', key.memberRef)
    .execute()
}

type SketchScope = { readonly agentId: string; readonly sessionId: string; readonly scope: string }
type Sketch = { readonly cell: number; readonly bytes: Buffer }
/** Keeps the sketches of a session, unless it has some. */
export const insertSketches = async (
  tx: Tx,
  session: SketchScope,
  sketches: readonly Sketch[],
): Promise<void> => {
  if (sketches.length === 0) return
  await sql`
    insert into stroke_sketches (agent_id, session_id, number, scope, cell, sketch)
    select ${session.agentId}, ${session.sessionId}, number, ${session.scope}, cell, sketch
    from unnest(${sketches.map(({ cell }) => cell)}::bigint[], ${sketches.map(({ bytes }) => bytes)}::bytea[])
      with ordinality as given(cell, sketch, number)
    where not exists (
      select from stroke_sketches where agent_id = ${session.agentId} and session_id = ${session.sessionId})`.execute(
    tx,
  )
}

/** Far more than any honest neighbourhood holds; an attacker who floods one cell must not slow the others down. */
const sketchesReadMax = 50_000
/** What other sessions of the same scope left in these cells. Reads across agents, so the transaction is the system's. */
export const listSketchesNear = async (
  tx: Tx,
  session: SketchScope,
  cells: readonly number[],
): Promise<Sketch[]> => {
  if (cells.length === 0) return []
  const { rows } = await sql<{ cell: string | bigint | number; sketch: Buffer }>`
    select cell, sketch from stroke_sketches
    where scope = ${session.scope} and cell = any(${[...cells]}::bigint[])
      and not (agent_id = ${session.agentId} and session_id = ${session.sessionId})
    limit ${sketchesReadMax}`.execute(tx)
  return rows.map(({ cell, sketch }) => ({ cell: Number(cell), bytes: sketch }))
}

/** Sketches live as long as the recordings they come from. */
export const dropOldSketches = async (tx: Tx, keepDays: number): Promise<void> => {
  await sql`select pohf_drop_days('stroke_sketches', ${keepDays})`.execute(tx)
}

/** Erasure: with a session go the shapes of its strokes. */
export const deleteSketches = async (
  tx: Tx,
  session: { readonly agentId: string; readonly sessionId: string },
): Promise<void> => {
  await tx
    .deleteFrom('stroke_sketches')
    .where('agent_id', '=', session.agentId)
    .where('session_id', '=', session.sessionId)
    .execute()
}

/** What is held of a member besides sessions: the last place and the devices. */
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

/** Erasure: the last place, the devices and the open nonces of a member and of its sessions. */
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
  await tx.deleteFrom('nonces').where('agent_id', '=', agentId).where('member_ref', '=', memberId).execute()
  for (const table of ['device_keys', 'device_attestations'] as const)
    await tx
      .deleteFrom(table)
      .where('agent_id', '=', agentId)
      .where('mode', '=', mode)
      .where('subject_ref', 'in', [...subjects])
      .execute()
}

type AttentionKey = { readonly agentId: string; readonly mode: Mode; readonly sessionId: string }
/** Uses a recorded session up for one completion; false where another did. */
export const insertAttentionClaim = async (tx: Tx, key: AttentionKey, usedBy: string): Promise<boolean> => {
  const result = await tx
    .insertInto('attention_claims')
    .values({ agent_id: key.agentId, mode: key.mode, session_id: key.sessionId, used_by: usedBy })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return result.numInsertedOrUpdatedRows === 1n
}

type DeviceOwner = {
  readonly agentId: string
  readonly mode: Mode
  readonly method: 'webauthn' | 'play_integrity' | 'app_attest'
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
      assurance: row.assurance,
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
  attestation: { readonly assurance: AttestedAssurance; readonly days: number },
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
  readonly assurance: AttestedAssurance
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
      assurance: row.assurance,
      attestedAt: row.attested_at,
    }
  )
}

/** The same for many at once, each by its own agent, so the transaction is the system's. */
export const findDevices = async (
  tx: Tx,
  keys: readonly { readonly agentId: string; readonly mode: Mode; readonly subjects: readonly string[] }[],
): Promise<(Device | undefined)[]> => {
  const requested = keys.flatMap(({ agentId, mode, subjects }, location) =>
    subjects.map((subject) => ({ place: location, agentId, mode, subject })),
  )
  if (requested.length === 0) return []
  const { rows } = await sql<{
    place: number
    method: string
    assurance: Device['assurance']
    attested_at: Date
  }>`
    select distinct on (k.place) k.place, d.method, d.assurance, d.attested_at
    from unnest(${requested.map((one) => one.place)}::int[], ${requested.map((one) => one.agentId)}::text[],
      ${requested.map((one) => one.mode)}::text[], ${requested.map((one) => one.subject)}::text[])
      as k(place, agent_id, mode, subject_ref)
    join device_attestations d on d.agent_id = k.agent_id and d.mode = k.mode and d.subject_ref = k.subject_ref
    where d.expires_at > pohf_now()
    order by k.place, array_position(array['hardware_strong', 'hardware', 'software'], d.assurance), d.attested_at desc`.execute(
    tx,
  )
  const found = new Map(
    rows.map(({ place: location, method, assurance, attested_at: attestedAt }) => [
      location,
      { method, assurance, attestedAt },
    ]),
  )
  return keys.map((_, location) => found.get(location))
}

/** Attestations whose time is over. */
export const deleteOldAttestations = async (tx: Tx): Promise<void> => {
  await sql`delete from device_attestations where expires_at < pohf_now()`.execute(tx)
}
