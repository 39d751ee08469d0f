import { inTransaction } from '../platform/db/db.ts'
import type { Ctx } from '../platform/ops/context.ts'
import type { Duty } from '../platform/queue/worker.ts'
import { deleteOldTokenClaims } from './store.ts'

export const tokenCleanupDuty = (ctx: Ctx): Duty => ({
  name: 'task tokens',
  everyMs: 60_000,
  run: () => inTransaction(ctx, 'system', deleteOldTokenClaims),
})
