import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import type { Duty } from '../../platform/queue/worker.ts'
import { deleteEmptied, deleteOrphanedDeliveries, deleteSettledDeliveries } from './store.ts'

const keep = { days: 30, limit: 1_000 }

/** Keeps the queue small: what was settled a month ago goes, and what was deleted. The attempts log goes by its partitions. */
export const retentionDuty = (ctx: Ctx): Duty => ({
  name: 'webhook retention',
  everyMs: 3_600_000,
  run: () =>
    inTransaction(ctx, 'system', async (tx) => {
      await deleteEmptied(tx, keep.limit)
      return (await deleteSettledDeliveries(tx, keep)) + (await deleteOrphanedDeliveries(tx, keep.limit))
    }),
})
