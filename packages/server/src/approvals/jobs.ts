import type { Ctx } from '../platform/ops/context.ts'
import type { Job } from '../platform/queue/worker.ts'
import { inTransaction } from '../platform/db/db.ts'
import { deleteExpiredDecisions } from './decisions/store.ts'
import { expire } from './requests/expire.ts'

/** The background jobs of approvals. */
export const jobs = (ctx: Ctx): Job[] => [
  { name: 'approvals', everyMs: 5_000, run: () => expire(ctx) },
  {
    name: 'approval challenges',
    everyMs: 60_000,
    run: () => inTransaction(ctx, 'system', deleteExpiredDecisions),
  },
]
