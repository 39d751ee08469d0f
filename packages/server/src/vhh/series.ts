import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction } from '../platform/db/db.ts'
import { readMonthToDate } from './epochs.ts'
import { listEpochs } from './store.ts'

/** One category. One that nobody ever published for is empty, not missing: categories come with the work. */
export const series = async (ctx: Ctx, code: string) =>
  inTransaction(ctx, 'system', async (tx) => {
    const epochs = await listEpochs(tx, code)
    return {
      code,
      latest: epochs.at(-1) ?? null,
      monthToDate: await readMonthToDate(tx),
      series: epochs,
    }
  })
