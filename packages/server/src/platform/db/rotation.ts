import { setTimeout as wait } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Ctx } from '../ops/context.ts'
import { masterKeyPath, readMasterKey, withVersion, writeMasterKey } from '../ops/master-key/file.ts'
import { acceptedHoursMax } from '../ops/secret-purposes.ts'
import { fingerprintsOf } from '../ops/secrets.ts'
import { inTransaction, readNow, type Tx } from './db.ts'
import {
  insertMasterKey,
  listHolders,
  listMasterKeys,
  lockHolders,
  requireMasterKey,
  sealingOf,
  stateOf,
  type MasterKeyHolder,
  type MasterKeyVersion,
} from './versions.ts'
import { listProgress, moveRest, rewrapColumn, type ColumnProgress } from './rewrap.ts'
import type { SealedColumn } from './sealed.ts'

// A rotation has three steps, each a command that can be repeated: a version is added to the file and copied to every
// machine; it begins to seal, and every sealed value is moved to it; the versions before it are retired.

/** A step that cannot be done now. */
export class RotationRefused extends Error {
  readonly fix: string
  constructor(message: string, fix: string) {
    super(message)
    this.fix = fix
  }
}

/** Reads the versions and follows them: this process seals only while it knows them. */
const followVersions = async (ctx: Ctx): Promise<MasterKeyVersion[]> => {
  const versions = await inTransaction(ctx, 'system', listMasterKeys)
  ctx.secrets.keyring.follow(stateOf(versions))
  return versions
}

const newestOf = (versions: readonly MasterKeyVersion[]): MasterKeyVersion =>
  versions.findLast(({ retiredAt }) => !retiredAt) ?? sealingOf(versions)
const olderOf = (versions: readonly MasterKeyVersion[], than: number): MasterKeyVersion[] =>
  versions.filter(({ version, retiredAt }) => version < than && !retiredAt)

const copyFile = 'Copy master.key from the machine where the version was added into DATA_DIR.'

/** Adds a version to the file of this machine. Nothing is sealed under it yet. Repeated, it finds the version that it added. */
export const addVersion = async (ctx: Ctx): Promise<{ readonly version: number }> => {
  await requireMasterKey(ctx)
  const versions = await followVersions(ctx)
  const { keyring } = ctx.secrets
  const sealing = sealingOf(versions).version
  const newest = newestOf(versions)
  if (newest.version > sealing) {
    if (keyring.fingerprints().has(newest.version)) return { version: newest.version }
    throw new RotationRefused(`Version ${newest.version} was added on another machine.`, copyFile)
  }
  if (olderOf(versions, sealing).length > 0)
    throw new RotationRefused(
      `The rotation to version ${sealing} is not complete: an older version is still accepted.`,
      'Run pohf keys rewrap, then pohf keys master retire.',
    )
  const { DATA_DIR: dataDir } = ctx.config
  const version = (versions.at(-1)?.version ?? 0) + 1
  const before = readMasterKey(dataDir)
  writeMasterKey(dataDir, withVersion(before, version))
  const fingerprint = fingerprintsOf(readMasterKey(dataDir)).get(version) ?? ''
  const stored = await inTransaction(ctx, 'system', async (tx) => {
    await insertMasterKey(tx, { version, fingerprint, seals: false })
    return (await listMasterKeys(tx)).find((row) => row.version === version)
  })
  if (stored?.fingerprint === fingerprint) return { version }
  writeMasterKey(dataDir, before)
  throw new RotationRefused(`Version ${version} was added on another machine at the same time.`, copyFile)
}

/** A process that ended by force is listed for a minute. */
const holdersMsMax = 90_000
const pollMs = 500

const namesOf = (holders: readonly MasterKeyHolder[]): string =>
  [...new Set(holders.map(({ role, host }) => `${role} on ${host}`))].join(', ')

/** Waits until every process that runs is as it should be, and refuses with the names of the others. */
const waitForHolders = async (
  ctx: Ctx,
  isReady: (holder: MasterKeyHolder) => boolean,
  refusal: (names: string) => RotationRefused,
): Promise<void> => {
  const startedAt = performance.now()
  for (;;) {
    const holders = await inTransaction(ctx, 'system', listHolders)
    const others = holders.filter((holder) => !isReady(holder))
    if (others.length === 0) return
    if (performance.now() - startedAt > holdersMsMax) throw refusal(namesOf(others))
    await wait(pollMs)
  }
}

/** Waits until no transaction can commit that began before now: it may hold a value of the version before. */
const waitForTransactions = async (ctx: Ctx): Promise<void> => {
  const at = await inTransaction(ctx, 'system', readNow)
  const startedAt = performance.now()
  for (;;) {
    const ended = await inTransaction(ctx, 'system', async (tx) => {
      const { rows } = await sql<{ ended: boolean }>`
        select pohf_events_whole_until() > ${at}::timestamptz as ended`.execute(tx)
      return rows[0]?.ended === true
    })
    if (ended) return
    if (performance.now() - startedAt > holdersMsMax)
      throw new RotationRefused(
        `A transaction that began before ${at.toISOString()}, when the new version sealed, is still open.`,
        'Run the command again when it has ended.',
      )
    await wait(pollMs)
  }
}

const updateSealsSince = async (tx: Tx, version: number): Promise<void> => {
  await sql`
    update platform_master_key set seals_since = pohf_now()
    where version = ${version} and seals_since is null`.execute(tx)
}
const updateRewrapped = async (tx: Tx, version: number): Promise<void> => {
  await sql`
    update platform_master_key set rewrapped_at = pohf_now()
    where version = ${version} and rewrapped_at is null`.execute(tx)
}
const updateRetired = async (tx: Tx, before: number): Promise<void> => {
  await sql`
    update platform_master_key set retired_at = pohf_now()
    where version < ${before} and retired_at is null`.execute(tx)
}

const startSealing = async (ctx: Ctx, version: number): Promise<void> => {
  const hasVersion = ({ versions }: MasterKeyHolder) => versions.includes(version)
  const refusal = (names: string) =>
    new RotationRefused(
      `These processes do not have version ${version} of the master key: ${names}.`,
      'Copy master.key to their DATA_DIR. They read it within seconds, without a restart.',
    )
  await waitForHolders(ctx, hasVersion, refusal)
  await inTransaction(ctx, 'system', async (tx) => {
    await lockHolders(tx)
    const others = (await listHolders(tx)).filter((holder) => !hasVersion(holder))
    if (others.length > 0) throw refusal(namesOf(others))
    await updateSealsSince(tx, version)
  })
}

const waitForSealing = (ctx: Ctx, version: number): Promise<void> =>
  waitForHolders(
    ctx,
    ({ sealing }) => sealing === version,
    (names) =>
      new RotationRefused(
        `These processes still seal under an older version: ${names}.`,
        'Look into their logs, end them if they hang, and run the command again.',
      ),
  )

/** Columns are read again until nothing of an older version is found. */
const attemptsMax = 5
const moveAllRest = async (ctx: Ctx, columns: readonly SealedColumn[]): Promise<void> => {
  for (let round = 0; round < attemptsMax; round++) {
    let found = 0
    for (const column of columns)
      found += await moveRest(ctx, column, async () => void (await followVersions(ctx)))
    if (found === 0) return
  }
  throw new RotationRefused(
    `After ${attemptsMax} rounds there are still values of an older version.`,
    'A process seals under it. Find it in pohf keys master show, and run the command again.',
  )
}

export type Rewrap = { readonly version: number; readonly columns: readonly ColumnProgress[] }
type Report = (progress: readonly ColumnProgress[]) => void

/** Lets the newest version seal, and moves every sealed value to it. Repeated, it continues where it ended. */
export const rewrap = async (ctx: Ctx, columns: readonly SealedColumn[], report: Report): Promise<Rewrap> => {
  await requireMasterKey(ctx)
  const versions = await followVersions(ctx)
  const { version } = newestOf(versions)
  if (!ctx.secrets.keyring.fingerprints().has(version))
    throw new RotationRefused(`master.key of this machine lacks version ${version}.`, copyFile)
  if (version === 1 || olderOf(versions, version).length === 0)
    throw new RotationRefused(
      `Version ${version} is the only one that is accepted: there is nothing to move.`,
      'Add a version with pohf keys master add.',
    )
  if (sealingOf(versions).version !== version) await startSealing(ctx, version)
  await followVersions(ctx)
  await waitForSealing(ctx, version)
  await waitForTransactions(ctx)
  const readProgress = () => inTransaction(ctx, 'system', (tx) => listProgress(tx, version))
  const afterPage = async () => {
    await followVersions(ctx)
    report(await readProgress())
  }
  for (const column of columns) await rewrapColumn(ctx, column, afterPage)
  await moveAllRest(ctx, columns)
  await inTransaction(ctx, 'system', (tx) => updateRewrapped(tx, version))
  return { version, columns: await readProgress() }
}

/** From when on nothing is valid any more that an older version made. */
const retirableAt = ({ sealsSince }: MasterKeyVersion): Date =>
  new Date((sealsSince?.getTime() ?? Infinity) + acceptedHoursMax * 3_600_000)

/** Drops the lines of versions that are retired from the file of this machine. */
const cleanFile = (ctx: Ctx, sealing: number): void => {
  const { keyring } = ctx.secrets
  if ([...keyring.fingerprints().keys()].some((version) => version < sealing))
    writeMasterKey(ctx.config.DATA_DIR, keyring.fileWithout(sealing))
}

export type Retirement = { readonly version: number; readonly retired: readonly number[] }

/**
 * Ends the versions before the one that seals: nothing of theirs is opened or accepted any more. `atOnce` does not wait until
 * what they made has expired. Repeated, or on another machine, it drops their lines from the file.
 */
export const retire = async (
  ctx: Ctx,
  columns: readonly SealedColumn[],
  atOnce: boolean,
): Promise<Retirement> => {
  await requireMasterKey(ctx)
  const versions = await followVersions(ctx)
  const sealing = sealingOf(versions)
  const older = olderOf(versions, sealing.version).map(({ version }) => version)
  if (older.length > 0) {
    if (!sealing.rewrappedAt)
      throw new RotationRefused(
        `Not every value is sealed under version ${sealing.version} yet.`,
        'Run pohf keys rewrap to its end.',
      )
    const at = retirableAt(sealing)
    if (!atOnce && (await inTransaction(ctx, 'system', readNow)) < at)
      throw new RotationRefused(
        `Tokens of version ${older.join(', ')} may be valid until ${at.toISOString()}.`,
        'Wait until then, or give --at-once: tokens of that version are then refused.',
      )
    await waitForSealing(ctx, sealing.version)
    await waitForTransactions(ctx)
    await moveAllRest(ctx, columns)
    await inTransaction(ctx, 'system', (tx) => updateRetired(tx, sealing.version))
  }
  cleanFile(ctx, sealing.version)
  return {
    version: sealing.version,
    retired: versions.flatMap(({ version }) => (version < sealing.version ? [version] : [])),
  }
}

export const fileOf = ({ config }: Pick<Ctx, 'config'>): string => masterKeyPath(config.DATA_DIR)

export const showVersions = async (ctx: Ctx) =>
  inTransaction(ctx, 'system', async (tx) => {
    const versions = await listMasterKeys(tx)
    const sealing = sealingOf(versions)
    return {
      versions,
      holders: await listHolders(tx),
      columns: await listProgress(tx, sealing.version),
      retirableAt: olderOf(versions, sealing.version).length > 0 ? retirableAt(sealing) : null,
    }
  })
