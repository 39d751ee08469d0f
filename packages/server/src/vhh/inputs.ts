import type { Epoch } from '@pohf/protocol'
import { readInputs, type InputsDocument } from '@pohf/verify/vhh'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { ensureFirstEpoch } from './epochs.ts'
import { compositeCode } from './rules.ts'
import type { IndexDeps } from './sources/sources.ts'
import { findEpochWithInputs, findLatestEpoch } from './store.ts'

export type EpochWithInputs = { readonly epoch: Epoch; readonly document: InputsDocument | undefined }

/** The newest revision of a month, or of the latest month, with what it was computed from. */
export const readEpochWithInputs = (ctx: Ctx, code: string, month: string | undefined) =>
  inTransaction(ctx, 'system', async (tx): Promise<EpochWithInputs> => {
    const wanted = month ?? (await findLatestEpoch(tx, code))?.epoch
    const found = wanted === undefined ? undefined : await findEpochWithInputs(tx, code, wanted)
    if (!found)
      throw new Refusal('not_found', { message: `No epoch of ${code} was published for that month.` })
    const document = found.document === undefined ? undefined : readInputs(found.document)
    if (typeof document === 'string')
      throw new Error(`the stored inputs of ${code} ${wanted} cannot be read: ${document}`)
    return { epoch: found.epoch, document }
  })

/** The inputs are published with a value: those of a month with few buyers would show what each of them pays. */
export const presentInputs = ({ epoch, document }: EpochWithInputs) =>
  epoch.status === 'final' && document
    ? {
        epoch,
        inputs: { ...document, rows: [...document.rows], workers: [...document.workers] },
        note: 'Each row is the work of one worker for one funding cluster. @pohf/verify/vhh computes the value from them.',
      }
    : {
        epoch,
        inputs: null,
        note: 'The inputs of an epoch without a value are not published: they would show what single buyers pay.',
      }

/** The composite with its inputs, for anybody. */
export const inputs = async (deps: IndexDeps, month: string | undefined) => {
  await ensureFirstEpoch(deps)
  return presentInputs(await readEpochWithInputs(deps.ctx, compositeCode, month))
}
