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
  type DeliverySnapshot,
  type Purchase,
} from './store.ts'

/** Where units come from. A rehearsal has no reference: nothing is used up. */
export type Stock = {
  /** Takes one verified, unsold unit, or says that there is none. It is held until it is sold or given back. */
  readonly reserve: (
    tx: Tx,
    workflowId: string,
    mode: Mode,
  ) => Promise<{ readonly unitRef: string | null; readonly frozen: DeliverySnapshot } | undefined>
  readonly release: (tx: Tx, unitRef: string | null) => Promise<void>
  readonly markSold: (tx: Tx, unitRef: string | null) => Promise<void>
}

/** What is needed to bring a purchase to its end. */
export type PurchaseSettlement = {
  readonly ctx: Ctx
  readonly settlement: Settlement
  readonly mint: PurchaseMint
  readonly stock: Stock
  /** Takes back a credential whose payment the chain has undone. */
  readonly revoke: (credentialId: string, reason: string) => Promise<void>
}

/** The money that came, once, in the book of whoever bought. */
const postPayment = (tx: Tx, purchase: Purchase) =>
  post(tx, {
    agentId: purchase.agentId,
    mode: purchase.mode,
    kind: paymentKind,
    reference: purchase.purchaseId,
    lines: paymentLines(purchase.amountUsdcMicro),
  })

/** Money that went back, or that the chain has undone. */
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

/** Everything that makes a purchase delivered, in the transaction that mints its credential. */
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
  if (!delivered) throw new Error('purchase is not in a deliverable state')
  await postPayment(tx, purchase)
  await deps.stock.markSold(tx, purchase.unitRef)
  await publish(tx, {
    agentId,
    mode,
    type: 'purchase.settled',
    subject: purchaseId,
    data: { purchaseId, workflowId, txHash: proof.transactionHash, credentialId: credential.credentialId },
  })
  // Last: it holds the account that pays the gas, and the next purchase waits for that.
  await deps.settlement.releaseGas(tx, purchaseId)
}

/** Paid, and not delivered yet: the money is in the books, and delivery is tried again until it works. */
const recordSettled = async (
  { ctx }: PurchaseSettlement,
  purchase: Purchase,
  proof: SettlementProof,
): Promise<void> => {
  await inTransaction(ctx, 'system', async (tx) => {
    await markPaymentSettled(tx, purchase.purchaseId, proof)
    const lookSeconds = retryDelaySeconds(purchase.attempts)
    if (!(await updateSettled(tx, purchase, { transactionHash: proof.transactionHash, lookSeconds })))
      await updateRetryAt(tx, purchase, lookSeconds)
    await postPayment(tx, purchase)
  })
}

/** Paid, and never to be delivered: the money must go back, and a person sees to it. */
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

/** A credential that was signed while its payment was on the way, for the one transaction that it names. */
export type PresignedCredential = {
  readonly transactionHash: string
  readonly signed: Promise<SignedPurchaseCredential | undefined>
}

const saleOf = (purchase: Purchase, frozen: DeliverySnapshot, transaction: string) => {
  const { agentId, mode, purchaseId, workflowId, payer } = purchase
  return { agentId, mode, purchaseId, workflowId, payer, transaction, ...frozen }
}

/**
 * Signs while the chain works. It stays in this process until the payment is proven, and is forgotten where the proof is
 * another transaction or none; what goes wrong here is tried again then.
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
        signed: deps.mint.sign(saleOf(purchase, purchase.frozen, transactionHash)).catch(() => undefined),
      }

/** Delivers, and gives back the purchase as it then is; undefined where it has to be read again. */
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
    const signed = ready ?? (await deps.mint.sign(saleOf(purchase, frozen, transaction)))
    const minted = await deps.mint.write(signed, async (tx, credential) => {
      const response = responseOf(purchase, credential, proof)
      await recordDelivery(tx, deps, { purchase, credential, proof, response })
      delivery = { credentialId: credential.credentialId, response }
    })
    return minted && delivery
      ? { ...purchase, ...delivery, state: 'delivered', transactionHash: transaction }
      : undefined
  } catch (error) {
    // Whatever went wrong, the payer has paid: that is written down before anything else.
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

/** Nothing was paid, and the chain proves it: what was held is free again. */
const recordVoid = async (
  { ctx, stock, revoke }: PurchaseSettlement,
  purchase: Purchase,
  reason: string,
): Promise<void> => {
  const { agentId, mode, purchaseId, workflowId } = purchase
  const ended = await inTransaction(ctx, 'system', async (tx) => {
    const current = await findPurchaseForUpdate(tx, purchase)
    if (!isPending(current.state) && current.state !== 'delivered') return undefined
    await markPaymentVoid(tx, purchaseId)
    await updateEnded(tx, purchase, { state: 'void', reason })
    if (current.transactionHash !== null) await postPaymentReversal(tx, current)
    // What somebody has read is not put back on the shelf.
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
  if (ended?.credentialId) await revoke(ended.credentialId, 'the chain undid its payment')
}

/** Does what follows from how the payment stands, and says how the purchase stands then. */
export const applySettlementState = async (
  deps: PurchaseSettlement,
  purchase: Purchase,
  settlementState: SettlementStatus,
  presigned: PresignedCredential | undefined,
): Promise<Purchase> => {
  const delivered =
    settlementState.kind === 'settled'
      ? await deliverPurchase(deps, purchase, settlementState.proof, presigned)
      : undefined
  if (delivered) return delivered
  if (settlementState.kind === 'void') await recordVoid(deps, purchase, settlementState.reason)
  return inTransaction(deps.ctx, 'system', async (tx) => {
    if (settlementState.kind === 'pending') {
      const lookSeconds = retryDelaySeconds(purchase.attempts)
      await updatePending(tx, purchase, {
        state: settlementState.sent ? 'broadcast' : 'uncertain',
        lookSeconds,
      })
    }
    const found = await findPurchase(tx, purchase.purchaseId)
    if (!found) throw new Error('purchase not found after its settlement was applied')
    return found
  })
}

/** Brings a purchase on that somebody began: by what the chain says, and by nothing else. */
export const advancePurchase = async (deps: PurchaseSettlement, purchase: Purchase): Promise<Purchase> =>
  applySettlementState(deps, purchase, await deps.settlement.findStatus(purchase.purchaseId), undefined)
