import { inTransaction, readNow } from '../platform/db/db.ts'
import type { Ctx } from '../platform/ops/context.ts'
import type { Job } from '../platform/queue/worker.ts'
import { makeFindDayKey } from './keys.ts'
import { dayOf } from './rules.ts'
import { deleteExpiredReservations, destroyKeys, dropOldDays } from './store.ts'

/** Ends reservations, makes the keys of today and tomorrow, and destroys those of days that ended 24 hours ago. */
export const jobs = (ctx: Ctx): Job[] => {
  const findDayKey = makeFindDayKey(ctx.secrets)
  return [
    {
      name: 'root reservations',
      everyMs: 5_000,
      run: () => inTransaction(ctx, 'system', deleteExpiredReservations),
    },
    {
      name: 'root keys',
      everyMs: 60_000,
      run: () =>
        inTransaction(ctx, 'system', async (tx) => {
          const now = await readNow(tx)
          const today = dayOf(now)
          const tomorrow = dayOf(new Date(now.getTime() + 86_400_000))
          if (ctx.config.rootBudgets) for (const day of [today, tomorrow]) await findDayKey(tx, day, today)
          await dropOldDays(tx)
          return destroyKeys(tx)
        }),
    },
  ]
}
