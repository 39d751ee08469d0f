import { sql } from 'kysely'
import type { Ctx } from './context.ts'
import { inTransaction } from './db.ts'
import { dropOldIdempotencyKeys } from './idempotency.ts'
import type { Duty } from './worker.ts'

/** Hourly housekeeping: next partitions, retention, outlived idempotency keys. Safe to run on every node. */
export const maintenanceDuty = (ctx: Ctx): Duty => ({
  name: 'maintenance',
  everyMs: 3_600_000,
  run: async () => {
    await inTransaction(ctx, 'system', async (tx) => {
      await sql`select pohf_maintain_partitions()`.execute(tx)
      await dropOldIdempotencyKeys(tx)
    })
    return 0
  },
})
