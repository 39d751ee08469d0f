import { hostname } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import type { Ctx } from '../ops/context.ts'
import type { MasterKeyState, Secrets } from '../ops/secrets.ts'
import { inTransaction, type Tx } from './db.ts'

/** A version of the master key, as the database knows it. */
export type MasterKeyVersion = {
  readonly version: number
  readonly fingerprint: string
  readonly addedAt: Date
  /** Since when values are sealed under it; null where processes only know it. */
  readonly sealsSince: Date | null
  /** When every value that may move had been moved to it. */
  readonly rewrappedAt: Date | null
  /** Since when nothing of it is accepted. */
  readonly retiredAt: Date | null
}

/** This process has another master key than those that wrote the database. The message says what to do. */
export class MasterKeyMismatch extends Error {
  constructor(dataDir: string) {
    super(
      `${join(dataDir, 'master.key')} is not the master key with which this database was written. With it, recordings, mails and webhook secrets could not be read, and known people would get new identifiers.\n` +
        '  - On a further machine: stop, and copy master.key from a machine that works into DATA_DIR.\n' +
        '  - If DATA_DIR points to another folder than before, set it to the right one.\n' +
        '  - If the file was lost, restore it from its backup.\n' +
        '  - If there is no backup, follow "The key folder is lost" in docs/operate/runbooks.md.',
    )
  }
}

/** The master key of this process lacks a version that the database needs. The message says what to do. */
export class MasterKeyVersionMissing extends Error {
  constructor(dataDir: string, versions: readonly number[]) {
    super(
      `${join(dataDir, 'master.key')} lacks version ${versions.join(', ')}, which this deployment uses.\n` +
        '  - Copy master.key from a machine that works into DATA_DIR.\n' +
        '  - After a restore of an older database, add the line of that version from its backup: docs/operate/master-key.md.',
    )
  }
}

export const listMasterKeys = async (tx: Tx): Promise<MasterKeyVersion[]> => {
  const { rows } = await sql<MasterKeyVersion>`
    select version, fingerprint, noted_at as "addedAt", seals_since as "sealsSince", rewrapped_at as "rewrappedAt",
      retired_at as "retiredAt"
    from platform_master_key order by version limit 1000`.execute(tx)
  return rows
}

/** Notes a version. Where another process noted it first, its row stays. */
export const insertMasterKey = async (
  tx: Tx,
  { version, fingerprint, seals }: { version: number; fingerprint: string; seals: boolean },
): Promise<void> => {
  await sql`
    insert into platform_master_key (version, fingerprint, seals_since)
    values (${version}, ${fingerprint}, case when ${seals} then pohf_now() end)
    on conflict (version) do nothing`.execute(tx)
}

/** The version under which values are sealed: the newest that has begun to. */
export const sealingOf = (versions: readonly MasterKeyVersion[]): MasterKeyVersion => {
  const found = versions.findLast(({ sealsSince, retiredAt }) => sealsSince && !retiredAt)
  if (!found) throw new Error(`none of ${versions.length} versions of the master key seals`)
  return found
}

/** Which versions the processes of the deployment use now. */
export const stateOf = (versions: readonly MasterKeyVersion[]): MasterKeyState => ({
  sealing: sealingOf(versions).version,
  accepted: new Map(
    versions.filter(({ retiredAt }) => !retiredAt).map(({ version, fingerprint }) => [version, fingerprint]),
  ),
})

/** Why this master key cannot serve this database; undefined where it can. A version that seals nothing yet may lack. */
export const masterKeyFault = (
  dataDir: string,
  { keyring }: Secrets,
  versions: readonly MasterKeyVersion[],
): Error | undefined => {
  const held = keyring.fingerprints()
  const known = versions.filter(({ version }) => held.has(version))
  if (known.length === 0 || known.some(({ version, fingerprint }) => held.get(version) !== fingerprint))
    return new MasterKeyMismatch(dataDir)
  const { sealing, accepted } = stateOf(versions)
  const missing = [...accepted.keys()].filter((version) => version <= sealing && !held.has(version))
  return missing.length > 0 ? new MasterKeyVersionMissing(dataDir, missing) : undefined
}

/** Compares the keys of kept purposes with the fingerprints in the database, and notes those that it does not have. */
const hasKeptKeys = async (tx: Tx, { keyring }: Secrets, version: number): Promise<boolean> => {
  const held = keyring.keptFingerprints()
  await sql`
    insert into platform_kept_keys (purpose, fingerprint, version)
    select purpose, fingerprint, ${version} from unnest(${[...held.keys()]}::text[], ${[...held.values()]}::text[])
      given(purpose, fingerprint)
    on conflict (purpose) do nothing`.execute(tx)
  const { rows } = await sql<{ purpose: string; fingerprint: string }>`
    select purpose, fingerprint from platform_kept_keys limit 1000`.execute(tx)
  const known = new Map(rows.map(({ purpose, fingerprint }) => [purpose, fingerprint]))
  return [...held].every(([purpose, fingerprint]) => known.get(purpose) === fingerprint)
}

/**
 * Compares the master key with the fingerprints in the database, and follows the versions that it uses. The first process to
 * start on a database notes the versions of its file.
 */
export const requireMasterKey = async (ctx: Ctx): Promise<void> => {
  const { keyring } = ctx.secrets
  const versions = await inTransaction(ctx, 'system', async (tx) => {
    const found = await listMasterKeys(tx)
    if (found.length === 0) {
      const held = [...keyring.fingerprints()]
      for (const [index, [version, fingerprint]] of held.entries())
        await insertMasterKey(tx, { version, fingerprint, seals: index === held.length - 1 })
    }
    const listed = found.length === 0 ? await listMasterKeys(tx) : found
    const fault = masterKeyFault(ctx.config.DATA_DIR, ctx.secrets, listed)
    if (fault) throw fault
    if (!(await hasKeptKeys(tx, ctx.secrets, sealingOf(listed).version)))
      throw new MasterKeyMismatch(ctx.config.DATA_DIR)
    return listed
  })
  keyring.follow(stateOf(versions))
}

/** Fails where this process lacks a version under which values are sealed. */
export const requireVersions = ({ config, secrets }: Pick<Ctx, 'config' | 'secrets'>): void => {
  const missing = secrets.keyring.missing()
  if (missing.length > 0) throw new MasterKeyVersionMissing(config.DATA_DIR, missing)
}

type Role = 'api' | 'worker'
/** One process that uses the master key. */
export type MasterKeyHolder = {
  readonly role: Role
  readonly host: string
  readonly versions: readonly number[]
  readonly sealing: number
}

/** A process that was not seen for this long has ended, or seals nothing until it has read the versions again. */
const holderSecondsMax = 60

/** Two lists of holders that nobody can change in between: a process reports itself and reads the versions under this lock. */
export const lockHolders = async (tx: Tx): Promise<void> => {
  await sql`select pg_advisory_xact_lock(hashtextextended('master_key', 0))`.execute(tx)
}

export const listHolders = async (tx: Tx): Promise<MasterKeyHolder[]> => {
  const { rows } = await sql<MasterKeyHolder>`
    select role, host, versions, sealing from platform_master_key_holders
    where seen_at > pohf_now() - make_interval(secs => ${holderSecondsMax}) order by host, role limit 1000`.execute(
    tx,
  )
  return rows
}

type Holder = { readonly holder: string; readonly role: Role }
const upsertHolder = async (tx: Tx, { keyring }: Secrets, { holder, role }: Holder): Promise<void> => {
  const versions = [...keyring.fingerprints().keys()]
  await sql`
    with gone as (
      delete from platform_master_key_holders where seen_at < pohf_now() - interval '1 day'
    )
    insert into platform_master_key_holders as known (holder, role, host, versions, sealing)
    values (${holder}, ${role}, ${hostname().slice(0, 255)}, ${versions}, ${keyring.sealing()})
    on conflict (holder) do update
      set versions = excluded.versions, sealing = excluded.sealing, seen_at = excluded.seen_at`.execute(tx)
}

const deleteHolder = async (tx: Tx, holder: string): Promise<void> => {
  await sql`delete from platform_master_key_holders where holder = ${holder}`.execute(tx)
}

/** Reports what this process holds, reads which versions are in use and follows them. */
export const syncMasterKey = async (ctx: Ctx, holder: Holder): Promise<void> => {
  const { keyring } = ctx.secrets
  const versions = await inTransaction(ctx, 'system', async (tx) => {
    await sql`select pg_advisory_xact_lock_shared(hashtextextended('master_key', 0))`.execute(tx)
    await upsertHolder(tx, ctx.secrets, holder)
    return listMasterKeys(tx)
  })
  const before = keyring.sealing()
  keyring.follow(stateOf(versions))
  // So that the others know at once, and not after the next pause.
  if (keyring.sealing() !== before)
    await inTransaction(ctx, 'system', (tx) => upsertHolder(tx, ctx.secrets, holder))
}

const syncEveryMs = 5_000
const retryMs = 1_000

export type MasterKeySync = {
  readonly stop: () => Promise<void>
}

/** Compares the master key, and follows its versions until the stop. */
export const startMasterKeySync = async (ctx: Ctx, role: Role): Promise<MasterKeySync> => {
  await requireMasterKey(ctx)
  const holder = { holder: ctx.ids.random(), role }
  await syncMasterKey(ctx, holder)
  let isStopped = false
  let timer: NodeJS.Timeout | undefined
  let running = Promise.resolve()
  const sync = async (): Promise<number> => {
    try {
      await syncMasterKey(ctx, holder)
      return syncEveryMs
    } catch (error) {
      ctx.log.warn({ err: error }, 'versions of the master key not read; trying again')
      return retryMs
    }
  }
  const repeat = (ms: number): void => {
    if (isStopped) return
    timer = setTimeout(() => {
      running = sync().then(repeat)
    }, ms).unref()
  }
  repeat(syncEveryMs)
  return {
    stop: async () => {
      isStopped = true
      clearTimeout(timer)
      await running
      await inTransaction(ctx, 'system', (tx) => deleteHolder(tx, holder.holder)).catch(() => undefined)
    },
  }
}
