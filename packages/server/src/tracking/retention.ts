import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction } from '../platform/db/db.ts'
import type { Job } from '../platform/queue/worker.ts'
import { tokenDays } from './rules.ts'
import { deleteExpiredClaims } from './store.ts'

/** Claims are kept this much longer than tokens are valid. */
const marginDays = 5

/** Deletes counters and claims of expired view tokens. Safe to run on every node. */
export const retentionJob = (ctx: Ctx): Job => ({
  name: 'tracking retention',
  everyMs: 3_600_000,
  run: () => inTransaction(ctx, 'system', (tx) => deleteExpiredClaims(tx, tokenDays + marginDays)),
})
