import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction } from '../platform/db/db.ts'
import type { Job } from '../platform/queue/worker.ts'
import { deleteOldRecorders, dropOldChunks, expireRecordings } from './recording/store.ts'

export const jobs = (ctx: Ctx): Job[] => [
  { name: 'session expiry', everyMs: 5_000, run: () => inTransaction(ctx, 'system', expireRecordings) },
  {
    name: 'session retention',
    everyMs: 600_000,
    run: () =>
      inTransaction(ctx, 'system', async (tx) => {
        await dropOldChunks(tx, ctx.config.TELEMETRY_KEEP_DAYS)
        return deleteOldRecorders(tx)
      }),
  },
]
