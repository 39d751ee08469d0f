import { inTransaction } from '../platform/db/db.ts'
import type { Ctx } from '../platform/ops/context.ts'
import type { Job } from '../platform/queue/worker.ts'
import { endOldAnswers } from './end-waiting.ts'
import { deleteOldAnswers, deleteOldTokenClaims } from './ending/store.ts'

export const jobs = (ctx: Ctx): Job[] => [
  {
    name: 'task tokens',
    everyMs: 60_000,
    run: () => inTransaction(ctx, 'system', deleteOldTokenClaims),
  },
  {
    name: 'task answers',
    everyMs: 60_000,
    run: () => inTransaction(ctx, 'system', endOldAnswers),
  },
  {
    name: 'old task answers',
    everyMs: 3_600_000,
    run: () => inTransaction(ctx, 'system', deleteOldAnswers),
  },
]
