import { sql } from 'kysely'
import type { Ctx } from '../ops/context.ts'
import type { Job } from '../queue/worker.ts'
import { inTransaction } from './db.ts'

/** Rows of each table in one transaction. */
const batch = 500

/** Adds up what connections wrote to figures of hours that are over, in one row for each key. Safe on every node. */
export const mergeSlotsJob = (ctx: Ctx): Job => ({
  name: 'merge of hourly figures',
  everyMs: 60_000,
  run: () =>
    inTransaction(ctx, 'system', async (tx) => {
      const { rows } = await sql<{ merged: number }>`select pohf_merge_slots(${batch}) as merged`.execute(tx)
      return rows[0]?.merged ?? 0
    }),
})
