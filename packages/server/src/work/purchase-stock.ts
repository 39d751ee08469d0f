import type { Stock } from './purchase/settle.ts'
import { findRehearsal } from './test-workflows.ts'

/** What a rehearsal delivers. */
const rehearsed = { answer: { text: 'Nobody did this: it is a rehearsal.' }, session: null }

/** What purchases are delivered from: on a test network also rehearsals, which never run out. */
export const stock: Stock = {
  take: async (_tx, workflowId, mode) =>
    mode === 'test' && findRehearsal(workflowId) ? { unitRef: null, frozen: rehearsed } : undefined,
  giveBack: async () => undefined,
  sell: async () => undefined,
}
