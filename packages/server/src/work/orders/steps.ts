import type { Tx } from '../../platform/db.ts'
import { publish } from '../../platform/outbox.ts'
import type { OrderState } from '../rules.ts'
import { updateOrderStatus, type OrderKey } from './store.ts'

type Told = Exclude<OrderState, 'created'>

/** Tells the buyer where the order is now. */
export const tellOrder = async (tx: Tx, key: OrderKey, status: Told): Promise<void> => {
  await publish(tx, {
    agentId: key.agentId,
    mode: key.mode,
    subject: key.orderId,
    type: `order.${status}`,
    data: { orderId: key.orderId, status },
  })
}
export const moveOrder = async (tx: Tx, key: OrderKey, status: Told): Promise<void> => {
  await updateOrderStatus(tx, key, status)
  await tellOrder(tx, key, status)
}
