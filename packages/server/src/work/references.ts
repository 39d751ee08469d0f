import type { Mode } from '@pohf/protocol'
import type { Tx } from '../platform/db.ts'
import { isPaid } from './rules.ts'
import { findOrder } from './store.ts'

/** What a reference to work says about the person who did it and about its payment. */
type WorkRef = { readonly humanRef: string | null; readonly paid: boolean }

/** The order behind a reference; undefined where this agent has none. Who worked is not known before units exist. */
export const findWorkRef = async (
  tx: Tx,
  key: { readonly agentId: string; readonly mode: Mode; readonly ref: string },
): Promise<WorkRef | undefined> => {
  const order = await findOrder(tx, { agentId: key.agentId, mode: key.mode, orderId: key.ref })
  return order && { humanRef: null, paid: isPaid(order.status) }
}

/** How many workflows can be bought and delivered now: the rehearsal on a test network. */
export const countPurchasable = async (_tx: Tx, mode: Mode): Promise<number> => (mode === 'test' ? 1 : 0)
