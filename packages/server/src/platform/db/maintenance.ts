import { sql } from 'kysely'
import type { Ctx } from '../ops/context.ts'
import { inLongTransaction, inTransaction, type Tx } from './db.ts'
import { deleteExpiredIdempotencyKeys } from './idempotency.ts'
import { deleteOldMailCounts } from './mails.ts'
import type { Job } from '../queue/worker.ts'

/**
 * Hourly maintenance: creates the next partitions and drops old ones, deletes expired idempotency keys and old mail counts,
 * and runs the cleanups of the modules. Safe on every node.
 */
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

const slotTables = [
  'view_hours',
  'view_flag_hours',
  'beacon_hours',
  'conversion_hours',
  'landing_hours',
  'landing_days',
  'session_hours',
  'session_reason_hours',
] as const

/** Rows of one table in one transaction. */
const mergeBatch = 500

/**
 * Merges the figures of past hours into one row for each key: while an hour lasts, connections write to several rows so that
 * they do not wait for each other. Safe on every node.
 */
export const mergeSlotsJob = (ctx: Ctx): Job => ({
  name: 'merge of hourly figures',
  everyMs: 60_000,
  run: async () => {
    let merged = 0
    for (const table of slotTables)
      merged += await inTransaction(ctx, 'system', async (tx) => {
        const { rows } = await sql<{
          count: number
        }>`select pohf_merge_slots(${table}::regclass, ${mergeBatch}) as count`.execute(tx)
        return rows[0]?.count ?? 0
      })
    return merged
  },
})
