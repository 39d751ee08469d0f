import type { Ctx } from '../platform/context.ts'
import { inTransaction } from '../platform/db.ts'
import type { Duty } from '../platform/worker.ts'
import { deleteOldTokenClaims } from './store.ts'

export const duties = (ctx: Ctx): Duty[] => [
  {
    name: 'task tokens',
    everyMs: 60_000,
    run: () => inTransaction(ctx, 'system', deleteOldTokenClaims),
  },
]
