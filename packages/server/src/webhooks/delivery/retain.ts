import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import type { Job } from '../../platform/queue/worker.ts'
import { deleteIdleHosts } from './hosts/store.ts'
import {
  deleteEmptyEndpoints,
  deleteOldHealth,
  deleteOrphanedDeliveries,
  deleteSettledDeliveries,
} from './store.ts'

const retention = { days: 30, limit: 1_000 }

/**
 * Deletes deliveries settled a month ago, those of deleted endpoints, these endpoints, and old health and limits of hosts.
 * The attempts log is dropped by its partitions.
 */
export const retentionJob = (ctx: Ctx): Job => ({
  name: 'webhook retention',
  everyMs: 3_600_000,
  run: () =>
    inTransaction(ctx, 'system', async (tx) => {
      const deleted = [
        await deleteEmptyEndpoints(tx, retention.limit),
        await deleteOldHealth(tx, retention.limit),
        await deleteIdleHosts(tx, retention.limit),
        await deleteSettledDeliveries(tx, retention),
        await deleteOrphanedDeliveries(tx, retention.limit),
      ]
      return deleted.reduce((sum, count) => sum + count, 0)
    }),
})
