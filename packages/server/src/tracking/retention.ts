import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction } from '../platform/db/db.ts'
import type { Duty } from '../platform/queue/worker.ts'
import { tokenDays } from './rules.ts'
import { dropOutlivedRegisters } from './store.ts'

/** A token is dated at its view's end, its row at the start: the margin covers the longest view. */
const marginDays = 5

/** Drops counters and claims of view tokens that ran out. Safe to run on every node. */
export const retentionDuty = (ctx: Ctx): Duty => ({
  name: 'tracking retention',
  everyMs: 3_600_000,
  run: () => inTransaction(ctx, 'system', (tx) => dropOutlivedRegisters(tx, tokenDays + marginDays)),
})
