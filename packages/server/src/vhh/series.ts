import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction } from '../platform/db/db.ts'
import { readMonthToDate } from './running.ts'
import { listEpochs } from './store.ts'

/** One series. An unknown code is an empty series, not 404: new categories appear with new work. */
export const series = async (ctx: Ctx, code: string) =>
  inTransaction(ctx, 'system', async (tx) => {
    const epochs = await listEpochs(tx, code)
    return {
      code,
      latest: epochs.at(-1) ?? null,
      monthToDate: await readMonthToDate(tx, code),
      series: epochs,
    }
  })
