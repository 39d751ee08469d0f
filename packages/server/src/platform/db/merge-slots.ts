import { sql } from 'kysely'
import type { Ctx } from '../ops/context.ts'
import type { Job } from '../queue/worker.ts'
import { inTransaction } from './db.ts'

const tables = [
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
const batch = 500

/** Adds up what connections wrote to figures of hours that are over, in one row for each key. Safe on every node. */
export const mergeSlotsJob = (ctx: Ctx): Job => ({
  name: 'merge of hourly figures',
  everyMs: 60_000,
  run: async () => {
    let merged = 0
    for (const table of tables)
      merged += await inTransaction(ctx, 'system', async (tx) => {
        const { rows } = await sql<{
          count: number
        }>`select pohf_merge_slots(${table}::regclass, ${batch}) as count`.execute(tx)
        return rows[0]?.count ?? 0
      })
    return merged
  },
})
