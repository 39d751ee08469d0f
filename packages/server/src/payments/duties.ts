import type { Ctx } from '../platform/context.ts'
import { inTransaction } from '../platform/db.ts'
import type { Duty } from '../platform/worker.ts'
import { updateDueExpired } from './store.ts'

const batchMax = 200

export const duties = (ctx: Ctx): Duty[] => [
  {
    name: 'checkouts',
    everyMs: 60_000,
    run: () => inTransaction(ctx, 'system', (tx) => updateDueExpired(tx, batchMax)),
  },
]
