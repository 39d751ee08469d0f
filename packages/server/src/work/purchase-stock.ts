import type { Stock } from './purchase/settle.ts'
import { markSold, returnStock, takeStock } from './stock.ts'
import { findRehearsal } from './test-workflows.ts'

/** What a rehearsal delivers. */
const rehearsed = { answer: { text: 'Nobody did this: it is a rehearsal.' }, session: null }

/** What purchases are delivered from: finished units, and on a test network also rehearsals, which never run out. */
export const stock: Stock = {
  take: async (tx, workflowId, mode) => {
    if (mode === 'test' && findRehearsal(workflowId)) return { unitRef: null, frozen: rehearsed }
    const unit = await takeStock(tx, workflowId, mode)
    return unit && { unitRef: unit.unitRef, frozen: { answer: unit.answer, session: unit.session } }
  },
  giveBack: async (tx, unitRef) => {
    if (unitRef !== null) await returnStock(tx, unitRef)
  },
  sell: async (tx, unitRef) => {
    if (unitRef !== null) await markSold(tx, unitRef)
  },
}
