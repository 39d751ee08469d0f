import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { upsertWorkflow } from '../store.ts'
import { seeds } from './test-workflows.ts'

/** Offers something on a loopback deployment. Every start writes the same rows, also two at the same time. */
export const seedWorkflows = async (ctx: Ctx): Promise<void> => {
  if (!ctx.config.loopback) return
  await inTransaction(ctx, 'system', async (tx) => {
    for (const workflow of seeds) await upsertWorkflow(tx, workflow)
  })
}
