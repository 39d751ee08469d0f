import type { Tx } from '../platform/db/db.ts'
import type { WorkRef, WorkRefKey } from '../work/index.ts'
import { publicIdOf } from './rules.ts'
import { findPurchase } from './store.ts'

/**
 * The purchase (`pur_…`) behind a reference; undefined where this agent has none. It names no person: the work was
 * done for stock, before anybody bought it. A question is referenced by its order, which names the person.
 */
export const findPurchaseRef = async (
  tx: Tx,
  { agentId, mode, ref }: WorkRefKey,
): Promise<WorkRef | undefined> => {
  const purchase = await findPurchase(tx, publicIdOf(ref))
  if (purchase?.agentId !== agentId || purchase.mode !== mode || purchase.orderId !== null) return undefined
  return { humanRef: null, paid: purchase.state === 'settled' || purchase.state === 'delivered' }
}
