import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction } from '../platform/db/db.ts'
import type { Job } from '../platform/queue/worker.ts'
import {
  deleteOldBrowserSessions,
  deleteOldRecorders,
  dropOldChunks,
  expireRecordings,
} from './recording/store.ts'
import { deleteVisitorSessions } from './store.ts'

export const jobs = (ctx: Ctx): Job[] => [
  { name: 'session expiry', everyMs: 5_000, run: () => inTransaction(ctx, 'system', expireRecordings) },
  {
    name: 'session retention',
    everyMs: 600_000,
    run: () =>
      inTransaction(ctx, 'system', async (tx) => {
        const { TELEMETRY_KEEP_DAYS, SESSION_KEEP_DAYS } = ctx.config
        await dropOldChunks(tx, TELEMETRY_KEEP_DAYS)
        const deleted = [
          await deleteOldRecorders(tx),
          await deleteOldBrowserSessions(tx),
          await deleteVisitorSessions(tx, SESSION_KEEP_DAYS),
        ]
        return deleted.reduce((sum, count) => sum + count, 0)
      }),
  },
]
