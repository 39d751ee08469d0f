import { sql } from 'kysely'
import type { Ctx } from '../ops/context.ts'
import { inLongTransaction, type Tx } from './db.ts'
import { deleteExpiredIdempotencyKeys } from './idempotency.ts'
import { deleteOldMailCounts } from './mails.ts'
import type { Job } from '../queue/worker.ts'

/** Hourly maintenance: next partitions, retention, expired idempotency keys, old mail counts, and the modules' own cleanups. Safe on every node. */
export const maintenanceJob = (ctx: Ctx, cleanups: readonly ((tx: Tx) => Promise<void>)[]): Job => ({
  name: 'maintenance',
  everyMs: 3_600_000,
  run: async () => {
    await inLongTransaction(ctx, 'system', async (tx) => {
      await sql`select pohf_maintain_partitions()`.execute(tx)
      await deleteExpiredIdempotencyKeys(tx)
      await deleteOldMailCounts(tx)
      for (const clean of cleanups) await clean(tx)
    })
    return 0
  },
})
