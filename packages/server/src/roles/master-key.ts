/** The parts of the server that `pohf keys rewrap` and `pohf keys master` use. */
import * as operators from '../operators/index.ts'
import { inTransaction } from '../platform/db/db.ts'
import type { ColumnProgress } from '../platform/db/rewrap.ts'
import * as rotation from '../platform/db/rotation.ts'
import { readConfig } from '../platform/ops/config.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { makeLogger } from '../platform/ops/log.ts'
import { secretPurposes } from '../platform/ops/secret-purposes.ts'
import { buildContext } from '../wiring/context.ts'
import { sealedColumns } from '../wiring/sealed-columns.ts'

export { RotationRefused } from '../platform/db/rotation.ts'
export { MasterKeyMismatch, MasterKeyVersionMissing } from '../platform/db/versions.ts'
export type { ColumnProgress }

/** Works with the settings of the server, beside its processes. */
const onMachine = async <T>(work: (ctx: Ctx) => Promise<T>): Promise<T> => {
  const ctx = buildContext({ config: readConfig(), log: makeLogger('silent'), name: 'pohf-master-key' })
  try {
    return await work(ctx)
  } finally {
    await ctx.db.end()
  }
}

const audit = (ctx: Ctx, action: string, version: number): Promise<void> =>
  inTransaction(ctx, 'system', (tx) =>
    operators.audit(tx, { operatorId: 'machine', action, target: `version ${version}`, details: {} }),
  )

/** What a rotation does with each purpose. */
export const describePurposes = () =>
  Object.entries(secretPurposes).map(
    ([
      purpose,
      {
        rotation: { how, ...more },
      },
    ]) => ({
      purpose,
      how,
      why: 'why' in more ? more.why : null,
      hours: 'hours' in more ? more.hours : null,
      columns: 'columns' in more ? [...more.columns] : [],
    }),
  )

export const addVersion = () =>
  onMachine(async (ctx) => {
    const added = await rotation.addVersion(ctx)
    await audit(ctx, 'master_key.add', added.version)
    return { ...added, file: rotation.fileOf(ctx) }
  })

export const showVersions = () => onMachine(rotation.showVersions)

export const rewrap = (report: (progress: readonly ColumnProgress[]) => void) =>
  onMachine(async (ctx) => {
    const done = await rotation.rewrap(ctx, sealedColumns, report)
    await audit(ctx, 'master_key.rewrap', done.version)
    return done
  })

export const retire = (atOnce: boolean) =>
  onMachine(async (ctx) => {
    const done = await rotation.retire(ctx, sealedColumns, atOnce)
    await audit(ctx, 'master_key.retire', done.version)
    return { ...done, file: rotation.fileOf(ctx) }
  })
