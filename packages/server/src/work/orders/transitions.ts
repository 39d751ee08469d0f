import type { Tx } from '../../platform/db/db.ts'
import { publish } from '../../platform/queue/outbox.ts'
import type { OrderState } from '../rules.ts'
import { updateOrderStatus, type OrderKey } from './store.ts'

type PublishedOrderState = Exclude<OrderState, 'created'>
/** Written out, so that a search for an event finds its publisher. */
const orderEventTypes = {
  funded: 'order.funded',
  in_progress: 'order.in_progress',
  delivered: 'order.delivered',
  completed: 'order.completed',
  cancelled: 'order.cancelled',
  refunded: 'order.refunded',
  expired: 'order.expired',
} as const satisfies Record<PublishedOrderState, string>

/** Publishes the new status of an order. */
export const publishOrderStatus = async (
  tx: Tx,
  key: OrderKey,
  status: PublishedOrderState,
): Promise<void> => {
  await publish(tx, {
    agentId: key.agentId,
    mode: key.mode,
    subject: key.orderId,
    type: orderEventTypes[status],
    data: { orderId: key.orderId, status },
  })
}
export const changeOrderStatus = async (
  tx: Tx,
  key: OrderKey,
  status: PublishedOrderState,
): Promise<void> => {
  await updateOrderStatus(tx, key, status)
  await publishOrderStatus(tx, key, status)
}
