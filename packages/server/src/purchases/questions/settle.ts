import { inTransaction } from '../../platform/db/db.ts'
import { markPaymentSettled, type SettlementProof } from '../../payments/index.ts'
import type { PurchaseSettlement } from '../flow.ts'
import { postPayment } from '../record.ts'
import { isPending } from '../rules.ts'
import {
  findPurchaseForUpdate,
  updateDelivered,
  updateEnded,
  updateSettled,
  type Purchase,
} from '../store.ts'
import { fundQuestion, lockQuestion } from './order.ts'

/** Why a payment that arrived pays no question. */
const notFundedReason = 'the question no longer waited for its payment'

/**
 * Funds the question of a proven payment, or makes the refund due where it no longer waits for the money. Payment, order
 * and purchase are one commit. Undefined where another process was faster.
 */
export const settleQuestion = (
  { ctx, settlement }: PurchaseSettlement,
  purchase: Purchase,
  proof: SettlementProof,
): Promise<Purchase | undefined> =>
  inTransaction(ctx, 'system', async (tx) => {
    await lockQuestion(tx, purchase)
    const current = await findPurchaseForUpdate(tx, purchase)
    if (!isPending(current.state)) return undefined
    const { transactionHash } = proof
    await markPaymentSettled(tx, purchase.purchaseId, proof)
    await postPayment(tx, purchase)
    if (await fundQuestion(tx, purchase)) {
      await updateDelivered(tx, purchase, { transactionHash, credentialId: null, response: null })
    } else {
      await updateSettled(tx, purchase, { transactionHash, retryDelay: 0 })
      await updateEnded(tx, purchase, { state: 'refund_due', reason: notFundedReason })
      ctx.log.error({ purchaseId: purchase.purchaseId }, 'paid question cannot be funded; refund required')
    }
    // Last: until the commit this locks the gas account that the next purchase waits for.
    await settlement.releaseGas(tx, purchase.purchaseId)
    return findPurchaseForUpdate(tx, purchase)
  })
