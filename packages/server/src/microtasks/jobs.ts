import { inTransaction } from '../platform/db/db.ts'
import type { Ctx } from '../platform/ops/context.ts'
import type { Job } from '../platform/queue/worker.ts'
import { deleteOldTokenClaims } from './store.ts'

export const tokenCleanupJob = (ctx: Ctx): Job => ({
  name: 'task tokens',
  everyMs: 60_000,
  run: () => inTransaction(ctx, 'system', deleteOldTokenClaims),
})
