import type { Mode, Workflow } from '@pohf/protocol'
import type { Tx } from '../platform/db/db.ts'
import {
  countStock,
  findRehearsal,
  findWorkflow,
  hasStock,
  listWorkflows,
  markStockUnitSold,
  releaseStockUnit,
  reserveStockUnit,
} from '../work/index.ts'
import type { Stock } from './settle.ts'

/** What a rehearsal delivers. It is nobody's work, so nothing is used up. */
const testSnapshot = { answer: { text: 'Nobody did this: it is a rehearsal.' }, session: null }

/** What purchases are delivered from: finished units, and on a test network rehearsals, which never run out. */
export const stock: Stock = {
  reserve: async (tx, workflowId, mode) => {
    if (mode === 'test' && findRehearsal(workflowId)) return { unitRef: null, frozen: testSnapshot }
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

/** A workflow of which at least one unit could be sold now. */
export const findWorkflowInStock = async (
  tx: Tx,
  workflowId: string,
  mode: Mode,
): Promise<Workflow | undefined> => {
  // The caller's own text: the database takes no NUL.
  const workflow = workflowPattern.test(workflowId) ? await findWorkflow(tx, workflowId) : undefined
  return workflow?.active && (await hasStock(tx, workflowId, mode)) ? workflow : undefined
}

/** How many workflows can be bought and delivered now. */
export const countPurchasable = async (tx: Tx, mode: Mode): Promise<number> => {
  const stocked = await countStock(tx)
  const offered = (await listWorkflows(tx)).filter(({ id }) => (stocked.get(id)?.[mode] ?? 0) > 0)
  return offered.length + (mode === 'test' ? 1 : 0)
}
