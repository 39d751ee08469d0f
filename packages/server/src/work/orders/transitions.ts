import type { Tx } from '../../platform/db/db.ts'
import { publish } from '../../platform/queue/outbox.ts'
import type { OrderState } from '../rules.ts'
import { updateOrderStatus, type OrderKey } from './store.ts'

type Told = Exclude<OrderState, 'created'>
/** Written out, so that a search for an event finds who publishes it. */
const eventOf = {
  funded: 'order.funded',
  in_progress: 'order.in_progress',
  delivered: 'order.delivered',
  completed: 'order.completed',
  cancelled: 'order.cancelled',
  refunded: 'order.refunded',
  expired: 'order.expired',
} as const satisfies Record<Told, string>

/** Tells the buyer where the order is now. */
export const tellOrder = async (tx: Tx, key: OrderKey, status: Told): Promise<void> => {
  await publish(tx, {
    agentId: key.agentId,
    mode: key.mode,
    subject: key.orderId,
    type: eventOf[status],
    data: { orderId: key.orderId, status },
  })
}
export const moveOrder = async (tx: Tx, key: OrderKey, status: Told): Promise<void> => {
  await updateOrderStatus(tx, key, status)
  await tellOrder(tx, key, status)
}
