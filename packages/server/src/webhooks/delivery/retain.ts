import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import type { Job } from '../../platform/queue/worker.ts'
import { deleteIdleHosts } from './hosts/store.ts'
import { deleteEmptyEndpoints, deleteOrphanedDeliveries, deleteSettledDeliveries } from './store.ts'

const retention = { days: 30, limit: 1_000 }

/**
 * Deletes deliveries settled a month ago, those of deleted endpoints, and old limits of hosts. The attempts log is dropped by
 * its partitions.
 */
export const retentionJob = (ctx: Ctx): Job => ({
  name: 'webhook retention',
  everyMs: 3_600_000,
  run: () =>
    inTransaction(ctx, 'system', async (tx) => {
      await deleteEmptyEndpoints(tx, retention.limit)
      const hosts = await deleteIdleHosts(tx, retention.limit)
      return (
        hosts +
        (await deleteSettledDeliveries(tx, retention)) +
        (await deleteOrphanedDeliveries(tx, retention.limit))
      )
    }),
})
