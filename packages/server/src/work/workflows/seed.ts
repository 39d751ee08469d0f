import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { upsertWorkflow } from './store.ts'
import { seedWorkflowTerms } from './test-workflows.ts'

/** Stores the built-in workflows on a loopback deployment. Every start writes the same rows, also two at once. */
export const seedWorkflows = async (ctx: Ctx): Promise<void> => {
  if (!ctx.config.loopback) return
  await inTransaction(ctx, 'system', async (tx) => {
    for (const workflow of seedWorkflowTerms) await upsertWorkflow(tx, workflow)
  })
}
