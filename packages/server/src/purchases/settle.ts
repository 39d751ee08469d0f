import type { Mode } from '@pohf/protocol'
import { post } from '../ledger/index.ts'
import {
  markPaymentSettled,
  markPaymentVoid,
  type SettlementProof,
  type Settlement,
  type SettlementStatus,
} from '../payments/index.ts'
import type { PurchaseCredential, PurchaseMint, SignedPurchaseCredential } from '../credentials/index.ts'
import { WorkEvidenceMissing } from '../credentials/index.ts'
import type { Ctx } from '../platform/ops/context.ts'
import type { FrozenAnswer } from '../platform/db/columns.ts'
import { inTransaction, type Tx } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { publish } from '../platform/queue/outbox.ts'
import { isPending, retryDelaySeconds, paymentLines, paymentKind, returnKind } from './rules.ts'
import {
  findPurchase,
  findPurchaseForUpdate,
  updateDelivered,
  updatePending,
  updateEnded,
  updateRetryAt,
  updateSettled,
  type Purchase,
} from './store.ts'

/** The stock that purchases are delivered from. A unit of a test workflow has no reference. */
export type Stock = {
  /** Reserves one verified, unsold unit until it is sold or released; undefined where there is none. */
  readonly reserve: (
    tx: Tx,
    workflowId: string,
    mode: Mode,
  ) => Promise<{ readonly unitRef: string | null; readonly frozen: FrozenAnswer } | undefined>
  readonly release: (tx: Tx, unitRef: string | null) => Promise<void>
  readonly markSold: (tx: Tx, unitRef: string | null) => Promise<void>
}

/** What the settlement of a purchase needs. */
export type PurchaseSettlement = {
  readonly ctx: Ctx
  readonly settlement: Settlement
  readonly mint: PurchaseMint
  readonly stock: Stock
  /** Revokes a credential whose payment the chain has reverted. */
  readonly revoke: (credentialId: string, reason: string) => Promise<void>
}

/** Posts the payment once, in the ledger of the buying agent. */
const postPayment = (tx: Tx, purchase: Purchase) =>
  post(tx, {
    agentId: purchase.agentId,
    mode: purchase.mode,
    kind: paymentKind,
    reference: purchase.purchaseId,
    lines: paymentLines(purchase.amountUsdcMicro),
  })

/** Posts a refund, or a payment that the chain has reverted. */
export const postPaymentReversal = (tx: Tx, purchase: Purchase) =>
  post(tx, {
    agentId: purchase.agentId,
    mode: purchase.mode,
    kind: returnKind,
    reference: purchase.purchaseId,
    lines: paymentLines(-purchase.amountUsdcMicro),
  })

const responseOf = (purchase: Purchase, credential: PurchaseCredential, proof: SettlementProof): string =>
  JSON.stringify({
    ...credential,
    purchaseId: purchase.purchaseId,
    answer: purchase.frozen?.answer ?? null,
    payment: {
      network: purchase.network,
      transaction: proof.transactionHash,
      payer: purchase.payer,
      amount: purchase.amountUsdcMicro.toString(),
    },
  })

/** Records a delivery, in the transaction that mints its credential. */
const recordDelivery = async (
  tx: Tx,
  deps: PurchaseSettlement,
  delivery: {
    readonly purchase: Purchase
    readonly credential: PurchaseCredential
    readonly proof: SettlementProof
    readonly response: string
  },
): Promise<void> => {
  const { purchase, credential, proof, response } = delivery
  const { agentId, mode, purchaseId, workflowId } = purchase
  await markPaymentSettled(tx, purchaseId, proof)
  const delivered = await updateDelivered(tx, purchase, {
    transactionHash: proof.transactionHash,
    credentialId: credential.credentialId,
    response,
  })
  if (!delivered) throw new Error(`purchase ${purchaseId} has ended and cannot be delivered`)
  await postPayment(tx, purchase)
  await deps.stock.markSold(tx, purchase.unitRef)
  await publish(tx, {
    agentId,
    mode,
    type: 'purchase.settled',
    subject: purchaseId,
    data: { purchaseId, workflowId, txHash: proof.transactionHash, credentialId: credential.credentialId },
  })
  // Last: until the commit this locks the gas account that the next purchase waits for.
  await deps.settlement.releaseGas(tx, purchaseId)
}

/** Paid and not delivered yet: posts the payment and schedules the next attempt to deliver. */
const recordSettled = async (
  { ctx }: PurchaseSettlement,
  purchase: Purchase,
  proof: SettlementProof,
): Promise<void> => {
  await inTransaction(ctx, 'system', async (tx) => {
    await markPaymentSettled(tx, purchase.purchaseId, proof)
    const retryDelay = retryDelaySeconds(purchase.attempts)
    if (!(await updateSettled(tx, purchase, { transactionHash: proof.transactionHash, retryDelay })))
      await updateRetryAt(tx, purchase, retryDelay)
    await postPayment(tx, purchase)
  })
}

/** Paid and undeliverable: an operator refunds the payment. */
const recordRefundDue = async (
  { ctx }: PurchaseSettlement,
  purchase: Purchase,
  reason: string,
): Promise<void> => {
  await inTransaction(ctx, 'system', async (tx) => {
    const { state } = await findPurchaseForUpdate(tx, purchase)
    if (state !== 'settled') return
    await updateEnded(tx, purchase, { state: 'refund_due', reason })
  })
  ctx.log.error(
    { purchaseId: purchase.purchaseId, reason },
    'paid purchase cannot be delivered; refund required',
  )
}

/** A credential that was signed while its payment was pending, valid for one transaction only. */
export type PresignedCredential = {
  readonly transactionHash: string
  readonly signed: Promise<SignedPurchaseCredential | undefined>
}

const credentialRequestOf = (purchase: Purchase, frozen: FrozenAnswer, transaction: string) => {
  const { agentId, mode, purchaseId, workflowId, payer } = purchase
  return { agentId, mode, purchaseId, workflowId, payer, transaction, ...frozen }
}

/**
 * Signs while the chain settles. The credential stays in this process until the payment is proven, and is dropped where
 * another transaction settled it, or none. Delivery signs again after an error here.
 */
export const presignCredential = (
  deps: PurchaseSettlement,
  purchase: Purchase,
  transactionHash: string,
): PresignedCredential | undefined =>
  purchase.frozen === null
    ? undefined
    : {
        transactionHash,
        signed: deps.mint
          .sign(credentialRequestOf(purchase, purchase.frozen, transactionHash))
          .catch(() => undefined),
      }

/** Delivers and returns the purchase as delivered; undefined where the caller must read it again. */
const deliverPurchase = async (
  deps: PurchaseSettlement,
  purchase: Purchase,
  proof: SettlementProof,
  presigned: PresignedCredential | undefined,
): Promise<Purchase | undefined> => {
  const { purchaseId, frozen } = purchase
  if (!frozen) return undefined
  const transaction = proof.transactionHash
  let delivery: Pick<Purchase, 'credentialId' | 'response'> | undefined
  try {
    const ready = presigned?.transactionHash === transaction ? await presigned.signed : undefined
    const signed = ready ?? (await deps.mint.sign(credentialRequestOf(purchase, frozen, transaction)))
    const minted = await deps.mint.write(signed, async (tx, credential) => {
      const response = responseOf(purchase, credential, proof)
      await recordDelivery(tx, deps, { purchase, credential, proof, response })
      delivery = { credentialId: credential.credentialId, response }
    })
    return minted && delivery
      ? { ...purchase, ...delivery, state: 'delivered', transactionHash: transaction }
      : undefined
  } catch (error) {
    // The payer has paid: that is stored before the error is handled.
    await recordSettled(deps, purchase, proof)
    if (error instanceof WorkEvidenceMissing) await recordRefundDue(deps, purchase, error.message)
    else if (!(error instanceof Refusal)) throw error
    else
      deps.ctx.log.warn(
        { purchaseId, code: error.code },
        'delivery of a paid purchase failed; it will be retried',
      )
    return undefined
  }
}

/** The chain proves that nothing was paid: releases the reserved unit. */
const recordVoid = async (
  { ctx, stock, revoke }: PurchaseSettlement,
  purchase: Purchase,
  reason: string,
): Promise<void> => {
  const { agentId, mode, purchaseId, workflowId } = purchase
  const voided = await inTransaction(ctx, 'system', async (tx) => {
    const current = await findPurchaseForUpdate(tx, purchase)
    if (!isPending(current.state) && current.state !== 'delivered') return undefined
    await markPaymentVoid(tx, purchaseId)
    await updateEnded(tx, purchase, { state: 'void', reason })
    if (current.transactionHash !== null) await postPaymentReversal(tx, current)
    // A delivered answer is known to the buyer and is not sold again.
    if (current.state !== 'delivered') await stock.release(tx, current.unitRef)
    await publish(tx, {
      agentId,
      mode,
      type: 'purchase.failed',
      subject: purchaseId,
      data: { purchaseId, workflowId, reason },
    })
    return current
  })
  if (voided?.credentialId) await revoke(voided.credentialId, 'the chain undid its payment')
}

/** Applies the status of the payment, and returns the purchase as it is then. */
export const applySettlementStatus = async (
  deps: PurchaseSettlement,
  purchase: Purchase,
  status: SettlementStatus,
  presigned: PresignedCredential | undefined,
): Promise<Purchase> => {
  const delivered =
    status.kind === 'settled' ? await deliverPurchase(deps, purchase, status.proof, presigned) : undefined
  if (delivered) return delivered
  if (status.kind === 'void') await recordVoid(deps, purchase, status.reason)
  return inTransaction(deps.ctx, 'system', async (tx) => {
    if (status.kind === 'pending') {
      const retryDelay = retryDelaySeconds(purchase.attempts)
      await updatePending(tx, purchase, {
        state: status.sent ? 'broadcast' : 'uncertain',
        retryDelay,
      })
    }
    const found = await findPurchase(tx, purchase.purchaseId)
    if (!found)
      throw new Error(`purchase ${purchase.purchaseId} not found after its settlement status was applied`)
    return found
  })
}

/** Advances a started purchase by what the chain says. */
export const advancePurchase = async (deps: PurchaseSettlement, purchase: Purchase): Promise<Purchase> =>
  applySettlementStatus(deps, purchase, await deps.settlement.findStatus(purchase.purchaseId), undefined)
