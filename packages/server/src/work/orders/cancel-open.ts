import type { Tx } from '../../platform/db/db.ts'
import type { UnitDeps } from '../deps.ts'
import { updateOpenCancelled } from '../units/store.ts'
import { returnEscrow } from './escrow.ts'
import type { Order } from './store.ts'
import { changeOrderStatus } from './transitions.ts'

/** Ends a locked order: its open units are cancelled and refunded. Units that are claimed or delivered continue. */
export const cancelOpenUnits = async (
  tx: Tx,
  deps: Pick<UnitDeps, 'returnPurchase'>,
  order: Order,
  reason: string,
): Promise<void> => {
  const { usdCents } = await updateOpenCancelled(tx, order)
  await changeOrderStatus(tx, order, 'cancelled')
  await returnEscrow(tx, deps, order, { usdCents, reference: order.orderId, reason })
}
