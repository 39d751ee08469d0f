import type { ReturnPurchase } from '../../work/index.ts'
import { findPurchaseForUpdate, updateEnded } from '../store.ts'

/** Makes the refund of a paid question due. `work` calls it with the order locked, in the transaction that ends the unit. */
export const returnPurchase: ReturnPurchase = async (tx, key, reason) => {
  const { state, orderId } = await findPurchaseForUpdate(tx, key)
  if (state !== 'delivered' || orderId === null)
    throw new Error(
      `purchase ${key.purchaseId} is ${state} while its question is returned; expected delivered`,
    )
  await updateEnded(tx, key, { state: 'refund_due', reason })
}
