import type { Settlement } from '../payments/index.ts'
import type { Audit, Operator } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { lockQuestion, refundQuestion } from './questions/order.ts'
import { postPaymentReversal } from './record.ts'
import {
  existsRefundTransaction,
  findPurchase,
  findPurchaseForUpdate,
  lockRefundTransaction,
  updateRefunded,
} from './store.ts'

type Input = { readonly purchaseId: string; readonly transaction: string; readonly reason: string }
type RefundDeps = { readonly ctx: Ctx; readonly audit: Audit; readonly settlement: Settlement | undefined }

/**
 * Records the refund of a payment. A person sends it from the account that was paid: this server has no key of that
 * account. The chain, not the person, proves that the refund arrived.
 */
export const operatorRefund = async (
  { ctx, audit, settlement }: RefundDeps,
  operator: Operator,
  { purchaseId, reason, ...input }: Input,
) => {
  const transaction = input.transaction.toLowerCase() as `0x${string}`
  const purchase = await inTransaction(ctx, 'system', (tx) => findPurchase(tx, purchaseId))
  if (!purchase) throw new Refusal('not_found', { message: 'No such purchase.' })
  if (!settlement) throw new Refusal('chain_unreachable', { headers: { 'retry-after': '60' } })
  const refundedUsdcMicro = await settlement.refundedIn(transaction, purchaseId)
  if (refundedUsdcMicro === undefined)
    throw new Refusal('payment_not_settled', { message: 'The chain has no block with that transaction yet.' })
  if (refundedUsdcMicro < purchase.amountUsdcMicro)
    throw new Refusal('payment_not_settled', {
      message: `That transaction paid ${refundedUsdcMicro} millionths of a USDC from the account that was paid to the payer; ${purchase.amountUsdcMicro} are owed.`,
    })
  return inTransaction(ctx, 'system', async (tx) => {
    await lockQuestion(tx, purchase)
    const current = await findPurchaseForUpdate(tx, purchase)
    await lockRefundTransaction(tx, transaction)
    if (current.state !== 'refund_due' || (await existsRefundTransaction(tx, transaction)))
      throw new Refusal('purchase_conflict', {
        message: 'Nothing is owed for this purchase, or that transaction already refunded another purchase.',
      })
    await updateRefunded(tx, purchase, { transactionHash: transaction, reason })
    await postPaymentReversal(tx, purchase)
    await refundQuestion(tx, purchase)
    await audit(tx, {
      operatorId: operator.operatorId,
      action: 'purchase.refund',
      target: purchaseId,
      details: { transaction, reason },
    })
    return { purchaseId, status: 'refunded' as const, transaction }
  })
}
