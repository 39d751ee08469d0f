import { sql, type Selectable } from 'kysely'
import type { Mode } from '@pohf/protocol'
import { executePrepared, now, type Tx } from '../../platform/db/db.ts'
import type { DB } from '../../platform/db/schema.ts'
import { deviceFacts, type ShownRoot } from '../../roots/index.ts'
import type { AppRef, AttestedAssurance, DeviceKey } from './attestation.ts'

export type DeviceOwner = {
  readonly agentId: string
  readonly mode: Mode
  readonly method: 'webauthn' | 'play_integrity' | 'app_attest'
  readonly subjectRef: string
}
/** The owner of a key. With `isAnySubject`, any key of the agent matches: a person uses one key in many sessions. */
export type KeyOwner = DeviceOwner & { readonly isAnySubject: boolean }

export const findDeviceKey = async (
  tx: Tx,
  owner: KeyOwner,
  keyId: string,
): Promise<DeviceKey | undefined> => {
  const row = await tx
    .selectFrom('device_keys')
    .select(['public_key', 'counter', 'assurance', 'model'])
    .where('agent_id', '=', owner.agentId)
    .where('mode', '=', owner.mode)
    .where('method', '=', owner.method)
    .where('key_id', '=', keyId)
    .where((where) => where.or([where.val(owner.isAnySubject), where('subject_ref', '=', owner.subjectRef)]))
    .executeTakeFirst()
  return (
    row && {
      keyId,
      publicKey: row.public_key,
      counter: Number(row.counter),
      assurance: row.assurance,
      model: row.model ?? undefined,
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
      model: key.model ?? null,
    })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return result.numInsertedOrUpdatedRows === 1n
}

/**
 * Advances the counter of the key; false when the key is another subject's or the counter does not increase. Some
 * authenticators never count.
 */
export const updateDeviceCounter = async (tx: Tx, owner: KeyOwner, key: DeviceKey): Promise<boolean> => {
  const result = await tx
    .updateTable('device_keys')
    .set({ counter: BigInt(key.counter), used_at: now() })
    .where('agent_id', '=', owner.agentId)
    .where('mode', '=', owner.mode)
    .where('method', '=', owner.method)
    .where('key_id', '=', key.keyId)
    .where((where) => where.or([where.val(owner.isAnySubject), where('subject_ref', '=', owner.subjectRef)]))
    .where((where) =>
      where.or([
        where('counter', '<', BigInt(key.counter)),
        where.and([where('counter', '=', 0n), where.val(key.counter === 0)]),
      ]),
    )
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}

/**
 * The model or app that a verdict shows, and the key if there is one. A verdict without `name` does not raise the assurance.
 */
export type VerdictRoot = { readonly name: string | undefined; readonly key: string | undefined }
/** A good verdict of a device about a subject. */
type Verdict = {
  readonly assurance: AttestedAssurance
  readonly days: number
  /** The session to which it is bound. */
  readonly sessionId: string | null
  /** Undefined where it raises nothing. */
  readonly root: VerdictRoot | undefined
}
export const updateDeviceAttestation = async (
  tx: Tx,
  owner: DeviceOwner,
  { assurance, days, sessionId, root }: Verdict,
): Promise<void> => {
  const fresh = {
    assurance,
    attested_at: now(),
    expires_at: sql<Date>`pohf_now() + make_interval(days => ${days})`,
    session_id: sessionId,
    root_name: root?.name ?? null,
    root_key: root?.key ?? null,
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

/** One key may answer for this many other members of an agent: a family shares a security key. */
const sharedMembersMax = 3

/** Whether the keys that answered for this member answered for too many others of the agent. */
export const isDeviceShared = async (
  tx: Tx,
  { agentId, mode, subjectRef }: Pick<DeviceOwner, 'agentId' | 'mode' | 'subjectRef'>,
): Promise<boolean> => {
  // The subject of a verdict about a member is the member. That of a verdict about a visitor is the session: leave it out.
  const { rows } = await sql<{ others: number }>`
    select count(*)::int as others from (
      select distinct other.subject_ref from device_attestations mine
      join device_attestations other on other.agent_id = mine.agent_id and other.root_key = mine.root_key
      where mine.agent_id = ${agentId} and mine.mode = ${mode} and mine.subject_ref = ${subjectRef}
        and mine.root_key is not null and other.root_key is not null and other.mode = mine.mode
        and other.subject_ref <> mine.subject_ref and other.subject_ref <> other.session_id
      limit ${sharedMembersMax + 1}) others`.execute(tx)
  return (rows[0]?.others ?? 0) > sharedMembersMax
}

/** Gives a session the verdicts of the session that it rests on. */
export const copyVerdicts = async (
  tx: Tx,
  { agentId, mode }: { readonly agentId: string; readonly mode: Mode },
  from: { readonly subjectRef: string; readonly sessionId: string },
  toSessionId: string,
): Promise<void> => {
  await sql`
    insert into device_attestations (agent_id, mode, subject_ref, method, assurance, attested_at, expires_at, session_id,
      root_name, root_key)
    select agent_id, mode, ${toSessionId}, method, assurance, attested_at, expires_at, ${toSessionId}, root_name, root_key
    from device_attestations where agent_id = ${agentId} and mode = ${mode} and subject_ref = ${from.subjectRef}
      and session_id = ${from.sessionId} and expires_at > pohf_now()
    on conflict do nothing`.execute(tx)
}

export type Device = {
  readonly method: string
  readonly assurance: AttestedAssurance
  readonly attestedAt: Date
  /** The root of the act that was asked about; undefined where the verdict is about another act, or shows none. */
  readonly root: ShownRoot | undefined
}

type DeviceLookup = {
  readonly mode: Mode
  readonly subjects: readonly { readonly agentId: string; readonly subjectRef: string }[]
  /** The session that the act rests on: a verdict that is bound to another one raises nothing. */
  readonly sessionId: string
  /** A verdict from before this time raises nothing. */
  readonly since?: Date | undefined
}

/** A subject has one attestation for each method. */
const methodsMax = 3

type DeviceRow = Pick<
  Selectable<DB['device_attestations']>,
  'method' | 'assurance' | 'attested_at' | 'root_name' | 'root_key'
> & { readonly position: number; readonly counts: boolean }

const deviceOf = (row: DeviceRow): Device => ({
  method: row.method,
  assurance: row.assurance,
  attestedAt: row.attested_at,
  root:
    row.counts && row.root_name !== null
      ? {
          ...deviceFacts[row.method === 'webauthn' ? 'authenticator' : 'app'],
          name: row.root_name,
          key: row.root_key ?? undefined,
          level: 'substantial',
          counted: false,
          fresh: true,
          at: row.attested_at,
        }
      : undefined,
})

/**
 * The strongest device for each act; undefined if there is none. The sandbox simulates acts, so in test mode a verdict
 * counts without a session. If the subjects belong to several agents, use a system transaction.
 */
export const findDevices = async (
  tx: Tx,
  lookups: readonly DeviceLookup[],
): Promise<(Device | undefined)[]> => {
  const requested = lookups.flatMap(({ mode, subjects, sessionId, since }, position) =>
    subjects.map((subject) => ({ position, mode, sessionId, since, ...subject })),
  )
  if (requested.length === 0) return lookups.map(() => undefined)
  const column = <K extends keyof (typeof requested)[number]>(name: K) => requested.map((one) => one[name])
  const query = sql<DeviceRow>`
    select distinct on (k.position) k.position, d.method, d.assurance, d.attested_at, d.root_name, d.root_key, d.counts
    from unnest(${column('position')}::int[], ${column('agentId')}::text[], ${column('mode')}::text[],
      ${column('subjectRef')}::text[], ${column('sessionId')}::text[],
      ${requested.map(({ since }) => since ?? null)}::timestamptz[])
      as k(position, agent_id, mode, subject_ref, session_id, since)
    cross join lateral (
      select method, assurance, attested_at, root_name, root_key,
        root_name is not null and (k.mode = 'test' or (found.session_id = k.session_id
          and attested_at >= coalesce(k.since, '-infinity'))) as counts
      from device_attestations found
      where found.agent_id = k.agent_id and found.mode = k.mode and found.subject_ref = k.subject_ref
        and found.expires_at > pohf_now()
      limit ${methodsMax}) d
    order by k.position, d.counts desc, array_position(array['hardware_strong', 'hardware', 'software'], d.assurance),
      d.attested_at desc`
  const rows = await executePrepared(tx, 'device_attestations_of_acts', query)
  const found = new Map(rows.map((row) => [row.position, deviceOf(row)]))
  return lookups.map((_, position) => found.get(position))
}

/** The same for one act. */
export const findDevice = async (tx: Tx, lookup: DeviceLookup): Promise<Device | undefined> =>
  (await findDevices(tx, [lookup]))[0]

/** Whether an operator has admitted this app or relying party of the agent. */
export const isAdmitted = async (tx: Tx, agentId: string, { kind, name }: AppRef): Promise<boolean> => {
  const row = await tx
    .selectFrom('admitted_apps')
    .select('name')
    .where('agent_id', '=', agentId)
    .where('kind', '=', kind)
    .where('name', '=', name)
    .executeTakeFirst()
  return row !== undefined
}

/** Apps and relying parties of the agent that an operator has admitted, at most 100. */
export const listAdmitted = async (tx: Tx, agentId: string) =>
  tx
    .selectFrom('admitted_apps')
    .select(['kind', 'name'])
    .where('agent_id', '=', agentId)
    .orderBy('kind')
    .orderBy('name')
    .limit(100)
    .execute()

/** Admits an app or relying party; once more changes nothing. */
export const insertAdmission = async (tx: Tx, agentId: string, { kind, name }: AppRef): Promise<void> => {
  await tx
    .insertInto('admitted_apps')
    .values({ agent_id: agentId, kind, name })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

export const deleteAdmission = async (tx: Tx, agentId: string, { kind, name }: AppRef): Promise<boolean> => {
  const { numDeletedRows } = await tx
    .deleteFrom('admitted_apps')
    .where('agent_id', '=', agentId)
    .where('kind', '=', kind)
    .where('name', '=', name)
    .executeTakeFirst()
  return numDeletedRows === 1n
}

/** Deletes expired attestations. */
export const deleteOldAttestations = async (tx: Tx): Promise<void> => {
  await sql`delete from device_attestations where expires_at < pohf_now()`.execute(tx)
}

/** The subject of the keys that people use on the step-up page. */
export const stepUpSubject = 'step-up'
/** Deletes keys of the step-up page that nobody used for 90 days. */
export const deleteUnusedStepUpKeys = async (tx: Tx): Promise<void> => {
  await sql`
    delete from device_keys where subject_ref = ${sql.lit(stepUpSubject)} and used_at < pohf_now() - interval '90 days'`.execute(
    tx,
  )
}
