import { sql, type Selectable } from 'kysely'
import type { Mode } from '@pohf/protocol'
import { now, type Tx } from '../../platform/db/db.ts'
import type { DB } from '../../platform/db/schema.ts'
import type { AttestedAssurance, DeviceKey } from './attestation.ts'

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

/** True when the key is new. */
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

/**
 * Advances the counter of this subject's key; false when the key is another's or the counter does not increase.
 * Some authenticators never count.
 */
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

/** The best current attestation of one of these subjects; undefined when there is none. */
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

/** A subject has one attestation for each method. */
const methodsMax = 3

/** The same for many at once, each by its own agent, so the transaction is the system's. */
export const findDevices = async (
  tx: Tx,
  keys: readonly { readonly agentId: string; readonly mode: Mode; readonly subjects: readonly string[] }[],
): Promise<(Device | undefined)[]> => {
  const requested = keys.flatMap(({ agentId, mode, subjects }, position) =>
    subjects.map((subject) => ({ position, agentId, mode, subject })),
  )
  if (requested.length === 0) return []
  const { rows } = await sql<
    { position: number } & Pick<Selectable<DB['device_attestations']>, 'method' | 'assurance' | 'attested_at'>
  >`
    select distinct on (k.position) k.position, d.method, d.assurance, d.attested_at
    from unnest(${requested.map((one) => one.position)}::int[], ${requested.map((one) => one.agentId)}::text[],
      ${requested.map((one) => one.mode)}::text[], ${requested.map((one) => one.subject)}::text[])
      as k(position, agent_id, mode, subject_ref)
    cross join lateral (
      select method, assurance, attested_at from device_attestations found
      where found.agent_id = k.agent_id and found.mode = k.mode and found.subject_ref = k.subject_ref
        and found.expires_at > pohf_now()
      limit ${methodsMax}) d
    order by k.position, array_position(array['hardware_strong', 'hardware', 'software'], d.assurance), d.attested_at desc`.execute(
    tx,
  )
  const found = new Map(
    rows.map(({ position, method, assurance, attested_at: attestedAt }) => [
      position,
      { method, assurance, attestedAt },
    ]),
  )
  return keys.map((_, position) => found.get(position))
}

/** Deletes expired attestations. */
export const deleteOldAttestations = async (tx: Tx): Promise<void> => {
  await sql`delete from device_attestations where expires_at < pohf_now()`.execute(tx)
}
