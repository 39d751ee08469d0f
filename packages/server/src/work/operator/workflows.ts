import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { countStock } from '../workflows/stock.ts'
import { listAllWorkflows } from '../workflows/store.ts'

const none = { live: 0, test: 0 }

/** Every workflow as operators see it, with its stock. */
export const operatorWorkflows = (ctx: Ctx) =>
  inTransaction(ctx, 'system', async (tx) => {
    const stock = await countStock(tx)
    const workflows = (await listAllWorkflows(tx)).map(({ id, ...workflow }) => ({
      ...workflow,
      workflowId: id,
      stock: stock.get(id) ?? none,
    }))
    return { workflows }
  })
