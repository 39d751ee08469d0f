import type { Mode, Workflow } from '@pohf/protocol'
import type { Tx } from '../platform/db/db.ts'
import {
  countStock,
  findTestWorkflow,
  findWorkflow,
  hasStock,
  listWorkflows,
  markStockUnitSold,
  releaseStockUnit,
  reserveStockUnit,
} from '../work/index.ts'
import type { Stock } from './flow.ts'

/** What a test workflow delivers. No unit of stock is used. */
const testSnapshot = { answer: { text: 'Simulated: no person did this work.' }, session: null }

/** The stock of purchases: finished units, and on a test network test workflows, which are always in stock. */
export const stock: Stock = {
  reserve: async (tx, workflowId, mode) => {
    if (mode === 'test' && findTestWorkflow(workflowId)) return { unitRef: null, frozen: testSnapshot }
    const unit = await reserveStockUnit(tx, workflowId, mode)
    return unit && { unitRef: unit.unitRef, frozen: { answer: unit.answer, session: unit.session } }
  },
  release: async (tx, unitRef) => {
    if (unitRef !== null) await releaseStockUnit(tx, unitRef)
  },
  markSold: async (tx, unitRef) => {
    if (unitRef !== null) await markStockUnitSold(tx, unitRef)
  },
}

const workflowPattern = /^wf_[a-z0-9_]{1,64}$/

/** An active workflow with at least one unit in stock. */
export const findWorkflowInStock = async (
  tx: Tx,
  workflowId: string,
  mode: Mode,
): Promise<Workflow | undefined> => {
  // The id comes from the caller unchecked, and PostgreSQL refuses NUL in text.
  const workflow = workflowPattern.test(workflowId) ? await findWorkflow(tx, workflowId) : undefined
  return workflow?.active && (await hasStock(tx, workflowId, mode)) ? workflow : undefined
}

/** How many workflows are in stock. */
export const countPurchasable = async (tx: Tx, mode: Mode): Promise<number> => {
  const stocked = await countStock(tx)
  const offered = (await listWorkflows(tx)).filter(({ id }) => (stocked.get(id)?.[mode] ?? 0) > 0)
  return offered.length + (mode === 'test' ? 1 : 0)
}
