import type { Epoch } from '@pohf/protocol'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction, readNow, type Tx } from '../platform/db/db.ts'
import type { Job } from '../platform/queue/worker.ts'
import type { Signer } from '../signing/index.ts'
import { compositeCode, dueMonths, method, monthOf, noInputs, unit } from './rules.ts'
import { findLatestEpoch, insertEpoch } from './store.ts'

const signEpoch = async (ctx: Ctx, signer: Signer, month: string, publishedAt: Date) => {
  const epoch = {
    code: compositeCode,
    epoch: month,
    value: null,
    currency: 'USD',
    unit,
    status: 'insufficient_data',
    method,
    inputs: noInputs,
    publishedAt: publishedAt.toISOString(),
  } as const satisfies Omit<Epoch, 'jws'>
  const iat = Math.floor(publishedAt.getTime() / 1_000)
  const jws = await signer.signTyped('vhh-epoch+jwt', { iss: ctx.config.BASE_URL, iat, ...epoch })
  return { ...epoch, valueUsdCents: null, publishedAt, jws }
}

/**
 * Publishes every month that is due and returns how many this call stored. Signing happens between two transactions:
 * several processes may sign the same month, one row is stored, and the other signatures are dropped.
 */
export const ensureEpochs = async (ctx: Ctx, signer: Signer): Promise<number> => {
  const { due, at } = await inTransaction(ctx, 'system', async (tx) => {
    const at = await readNow(tx)
    return { due: dueMonths((await findLatestEpoch(tx, compositeCode))?.epoch, at), at }
  })
  if (due.length === 0) return 0
  const signed: Awaited<ReturnType<typeof signEpoch>>[] = []
  for (const month of due) signed.push(await signEpoch(ctx, signer, month, at))
  return inTransaction(ctx, 'system', async (tx) => {
    let stored = 0
    for (const epoch of signed) if (await insertEpoch(tx, epoch)) stored += 1
    return stored
  })
}

/** The latest epoch; `ensureEpochs` guarantees that there is one. */
export const readComposite = async (tx: Tx): Promise<Epoch> => {
  const latest = await findLatestEpoch(tx, compositeCode)
  if (!latest) throw new Error(`no epoch of index ${compositeCode} found while reading the composite`)
  return latest
}

/** The figures of the current month so far. */
export const readMonthToDate = async (tx: Tx) => {
  const at = await readNow(tx)
  return {
    month: monthOf(at),
    value: null,
    status: 'insufficient_data',
    inputs: noInputs,
    asOf: at.toISOString(),
  }
}

export const epochJob = (ctx: Ctx, signer: Signer): Job => ({
  name: 'index epochs',
  everyMs: 600_000,
  run: () => ensureEpochs(ctx, signer),
})
