import { inTransaction } from '../../platform/db/db.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { findPendingSeconds } from './store.ts'

/** Sets the metric of the oldest change that is not published. */
export const measurePendingRevocations = async (ctx: Ctx): Promise<void> => {
  ctx.metrics.revocationPending.set(await inTransaction(ctx, 'system', findPendingSeconds))
}
