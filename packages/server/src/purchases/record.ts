import type { PurchaseCredential } from '../credentials/index.ts'
import { post } from '../ledger/index.ts'
import { markPaymentSettled, markPaymentVoid, type SettlementProof } from '../payments/index.ts'
import { inTransaction, type Tx } from '../platform/db/db.ts'
import { publish } from '../platform/queue/outbox.ts'
import type { PurchaseSettlement } from './flow.ts'
import { lockQuestion, reverseQuestion } from './questions/order.ts'
import { isPending, paymentKind, paymentLines, purposeOf, retryDelaySeconds, returnKind } from './rules.ts'
import {
  findPurchaseForUpdate,
  updateDelivered,
  updateEnded,
  updateRetryAt,
  updateSettled,
  type Purchase,
} from './store.ts'

// Each transaction here, and that of `questions/settle.ts`, locks in one order: the order of the question, the purchase, the
// payment. Two processes that advance the same purchase then wait for each other and never deadlock.

/** Posts the payment once, in the ledger of the buying agent. */
export const postPayment = (tx: Tx, purchase: Purchase) =>
  post(tx, {
    agentId: purchase.agentId,
    mode: purchase.mode,
    kind: paymentKind,
    reference: purchase.purchaseId,
    lines: paymentLines(purposeOf(purchase), purchase.amountUsdcMicro),
  })

/** Posts a refund, or a payment that the chain has reverted. */
export const postPaymentReversal = (tx: Tx, purchase: Purchase) =>
  post(tx, {
    agentId: purchase.agentId,
    mode: purchase.mode,
    kind: returnKind,
    reference: purchase.purchaseId,
    lines: paymentLines(purposeOf(purchase), -purchase.amountUsdcMicro),
  })

type Delivery = {
  readonly purchase: Purchase
  readonly credential: PurchaseCredential
  readonly proof: SettlementProof
  readonly response: string
}
/** Records a delivery, in the transaction that mints its credential. */
export const recordDelivery = async (
  tx: Tx,
  deps: PurchaseSettlement,
  { purchase, credential, proof, response }: Delivery,
): Promise<void> => {
  const { agentId, mode, purchaseId, workflowId } = purchase
  const { credentialId } = credential
  const delivered = await updateDelivered(tx, purchase, {
    transactionHash: proof.transactionHash,
    credentialId,
    response,
  })
  if (!delivered) {
    const { state } = await findPurchaseForUpdate(tx, purchase)
    throw new Error(
      `purchase ${purchaseId} is ${state}, not pending, while recording the delivery of credential ${credentialId}`,
    )
  }
  await markPaymentSettled(tx, purchaseId, proof)
  await postPayment(tx, purchase)
  await deps.stock.markSold(tx, purchase.unitRef)
  await publish(tx, {
    agentId,
    mode,
    type: 'purchase.settled',
    subject: purchaseId,
    data: { purchaseId, workflowId, txHash: proof.transactionHash, credentialId },
  })
  // Last: until the commit this locks the gas account that the next purchase waits for.
  await deps.settlement.releaseGas(tx, purchaseId)
}

/** Paid and not delivered yet: posts the payment and schedules the next attempt to deliver. */
export const recordSettled = async (
  { ctx }: Pick<PurchaseSettlement, 'ctx'>,
  purchase: Purchase,
  proof: SettlementProof,
): Promise<void> => {
  await inTransaction(ctx, 'system', async (tx) => {
    await lockQuestion(tx, purchase)
    const retryDelay = retryDelaySeconds(purchase.attempts)
    if (!(await updateSettled(tx, purchase, { transactionHash: proof.transactionHash, retryDelay })))
      await updateRetryAt(tx, purchase, retryDelay)
    await markPaymentSettled(tx, purchase.purchaseId, proof)
    await postPayment(tx, purchase)
  })
}

/** Paid and undeliverable: an operator refunds the payment. */
export const recordRefundDue = async (
  { ctx }: PurchaseSettlement,
  purchase: Purchase,
  reason: string,
): Promise<void> => {
  const isDue = await inTransaction(ctx, 'system', async (tx) => {
    const { state } = await findPurchaseForUpdate(tx, purchase)
    if (state !== 'settled') return false
    await updateEnded(tx, purchase, { state: 'refund_due', reason })
    return true
  })
  if (isDue)
    ctx.log.error(
      { purchaseId: purchase.purchaseId, reason },
      'paid purchase cannot be delivered; refund required',
    )
}

/**
 * Whether a purchase becomes void when the chain reverts its payment. An operator must not refund a question that nobody
 * paid.
 */
const canBecomeVoid = ({ state, orderId }: Purchase): boolean =>
  isPending(state) || state === 'delivered' || (state === 'refund_due' && orderId !== null)

/** The chain proves that nothing was paid: releases the reserved unit, or stops the question. */
export const recordVoid = async (
  deps: PurchaseSettlement,
  purchase: Purchase,
  reason: string,
): Promise<void> => {
  const { stock, revoke } = deps
  const { agentId, mode, purchaseId, workflowId } = purchase
  await inTransaction(deps.ctx, 'system', async (tx) => {
    await lockQuestion(tx, purchase)
    const current = await findPurchaseForUpdate(tx, purchase)
    if (!canBecomeVoid(current)) return
    await markPaymentVoid(tx, purchaseId)
    await updateEnded(tx, purchase, { state: 'void', reason })
    if (current.transactionHash !== null) {
      await postPaymentReversal(tx, current)
      await reverseQuestion(tx, deps, current)
    }
    // A delivered answer is known to the buyer and is not sold again.
    if (current.state !== 'delivered') await stock.release(tx, current.unitRef)
    await publish(tx, {
      agentId,
      mode,
      type: 'purchase.failed',
      subject: purchaseId,
      data: { purchaseId, workflowId, reason },
    })
    // Last: it locks the status list until the commit.
    if (current.credentialId !== null) await revoke(tx, current.credentialId, 'its payment was reverted')
  })
}
