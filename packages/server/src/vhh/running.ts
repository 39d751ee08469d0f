import { inTransaction, readNow, type Tx } from '../platform/db/db.ts'
import type { Job } from '../platform/queue/worker.ts'
import { computeSeries, ensureEpochs, listDocuments } from './epochs.ts'
import { compositeCode, monthOf, monthSpan, noInputs, usdOf } from './rules.ts'
import { collectWork } from './sources/collect.ts'
import type { IndexDeps } from './sources/sources.ts'
import { findRunningMonth, listCodes, upsertRunning } from './store.ts'

/** The figures of the running month are at most this old while there is work. */
const keptMs = 3_600_000

/** Computes the running month again where its figures are older than an hour; true where it did. */
const refreshRunning = async (deps: IndexDeps): Promise<boolean> => {
  const { ctx } = deps
  const { now, known, knownCodes } = await inTransaction(ctx, 'system', async (tx) => ({
    now: await readNow(tx),
    known: await findRunningMonth(tx, compositeCode),
    knownCodes: await listCodes(tx),
  }))
  const month = monthOf(now)
  if (known?.month === month && now.getTime() - known.asOf.getTime() < keptMs) return false
  const work = await collectWork(deps, monthSpan(month))
  const figures = listDocuments(ctx, month, work, knownCodes).map((document) => {
    const { status, usdCents, inputs } = computeSeries(document)
    return {
      code: document.code,
      month,
      valueUsdCents: usdCents === null ? null : BigInt(usdCents),
      status: status === 'final' ? ('running' as const) : status,
      inputs: { hours: inputs.hours, clusters: inputs.clusters, workers: inputs.workers },
      asOf: now,
    }
  })
  await inTransaction(ctx, 'system', async (tx) => {
    for (const one of figures) await upsertRunning(tx, one)
  })
  return true
}

/** The figures of the current month so far; a value only where the inputs suffice. */
export const readMonthToDate = async (tx: Tx, code: string) => {
  const now = await readNow(tx)
  const month = monthOf(now)
  const known = await findRunningMonth(tx, code)
  if (known?.month !== month)
    return { month, value: null, status: 'insufficient_data', inputs: noInputs, asOf: now.toISOString() }
  const { valueUsdCents, status, inputs, asOf } = known
  return { month, value: usdOf(valueUsdCents), status, inputs, asOf: asOf.toISOString() }
}

export const epochJob = (deps: IndexDeps): Job => ({
  name: 'index epochs',
  everyMs: 600_000,
  run: async () => (await ensureEpochs(deps)) + ((await refreshRunning(deps)) ? 1 : 0),
})
