import { sql } from 'kysely'
import type { Ctx } from '../ops/context.ts'
import { inTransaction, type Tx } from './db.ts'
import { dropOldIdempotencyKeys } from './idempotency.ts'
import type { Duty } from '../queue/worker.ts'

/** Hourly housekeeping: next partitions, retention, outlived idempotency keys, and what modules clean of theirs. Safe to run on every node. */
export const maintenanceDuty = (ctx: Ctx, cleaners: readonly ((tx: Tx) => Promise<void>)[]): Duty => ({
  name: 'maintenance',
  everyMs: 3_600_000,
  run: async () => {
    await inTransaction(ctx, 'system', async (tx) => {
      await sql`select pohf_maintain_partitions()`.execute(tx)
      await dropOldIdempotencyKeys(tx)
      for (const clean of cleaners) await clean(tx)
    })
    return 0
  },
})
