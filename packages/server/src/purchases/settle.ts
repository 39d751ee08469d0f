import {
  WorkEvidenceMissing,
  type PurchaseCredential,
  type SignedPurchaseCredential,
} from '../credentials/index.ts'
import type { SettlementProof, SettlementStatus } from '../payments/index.ts'
import type { FrozenAnswer } from '../platform/db/columns.ts'
import { inTransaction } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import type { PurchaseSettlement } from './flow.ts'
import { settleQuestion } from './questions/settle.ts'
import { recordDelivery, recordRefundDue, recordSettled, recordVoid } from './record.ts'
import { retryDelaySeconds } from './rules.ts'
import { findPurchase, updatePending, type Purchase } from './store.ts'

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

type ProvenPayment = {
  readonly proof: SettlementProof
  readonly presigned: PresignedCredential | undefined
}
/**
 * Mints the credential and records the delivery in one transaction, or funds the question. Undefined where another process
 * delivered first, or the answer is gone: then the caller reads the purchase again.
 */
const deliverPurchase = async (
  deps: PurchaseSettlement,
  purchase: Purchase,
  { proof, presigned }: ProvenPayment,
): Promise<Purchase | undefined> => {
  if (purchase.orderId !== null) return settleQuestion(deps, purchase, proof)
  const { frozen } = purchase
  if (!frozen) return undefined
  const transaction = proof.transactionHash
  const ready = presigned?.transactionHash === transaction ? await presigned.signed : undefined
  const signed = ready ?? (await deps.mint.sign(credentialRequestOf(purchase, frozen, transaction)))
  const credential = signed.answer.body
  const response = responseOf(purchase, credential, proof)
  // As the system: the unit belongs to the platform agent, and the purchase may belong to another agent.
  const isDelivered = await inTransaction(deps.ctx, 'system', async (tx) => {
    if (!(await deps.mint.write(tx, signed))) return false
    await recordDelivery(tx, deps, { purchase, credential, proof, response })
    return true
  })
  if (!isDelivered) return undefined
  const { credentialId } = credential
  return { ...purchase, credentialId, response, state: 'delivered', transactionHash: transaction }
}

/** Records a payment whose delivery failed. The payer has paid: that is stored before the error is handled. */
const recordDeliveryFailure = async (
  deps: PurchaseSettlement,
  purchase: Purchase,
  proof: SettlementProof,
  error: unknown,
): Promise<void> => {
  await recordSettled(deps, purchase, proof)
  if (error instanceof WorkEvidenceMissing) {
    await recordRefundDue(deps, purchase, error.message)
    return
  }
  if (!(error instanceof Refusal)) throw error
  if (error.code === 'credential_lost') {
    await recordRefundDue(deps, purchase, 'its credential was delivered before the database was restored')
    return
  }
  deps.ctx.log.warn(
    { purchaseId: purchase.purchaseId, code: error.code },
    'delivery of a paid purchase failed; it will be retried',
  )
}

/** Settles an x402 purchase: applies the status of the payment, and returns the purchase as it is then. */
export const applySettlementStatus = async (
  deps: PurchaseSettlement,
  purchase: Purchase,
  status: SettlementStatus,
  presigned: PresignedCredential | undefined,
): Promise<Purchase> => {
  switch (status.kind) {
    case 'settled': {
      const delivered = await deliverOrRecord(deps, purchase, { proof: status.proof, presigned })
      return delivered ?? requirePurchase(deps, purchase, status)
    }
    case 'void':
      await recordVoid(deps, purchase, status.reason)
      return requirePurchase(deps, purchase, status)
    case 'pending':
      await recordPending(deps, purchase, status.sent)
      return requirePurchase(deps, purchase, status)
  }
}

/** Undefined where the delivery failed, or another process has delivered. */
const deliverOrRecord = async (
  deps: PurchaseSettlement,
  purchase: Purchase,
  delivery: Parameters<typeof deliverPurchase>[2],
): Promise<Purchase | undefined> => {
  try {
    return await deliverPurchase(deps, purchase, delivery)
  } catch (error) {
    await recordDeliveryFailure(deps, purchase, delivery.proof, error)
    return undefined
  }
}

const recordPending = ({ ctx }: PurchaseSettlement, purchase: Purchase, sent: boolean): Promise<void> =>
  inTransaction(ctx, 'system', (tx) =>
    updatePending(tx, purchase, {
      state: sent ? 'broadcast' : 'uncertain',
      retryDelay: retryDelaySeconds(purchase.attempts),
    }),
  )

const requirePurchase = async (
  { ctx }: PurchaseSettlement,
  { purchaseId }: Purchase,
  { kind }: SettlementStatus,
): Promise<Purchase> => {
  const found = await inTransaction(ctx, 'system', (tx) => findPurchase(tx, purchaseId))
  if (!found) throw new Error(`purchase ${purchaseId} not found after its payment was found to be ${kind}`)
  return found
}

/** Advances a started purchase by what the chain says. */
export const advancePurchase = async (deps: PurchaseSettlement, purchase: Purchase): Promise<Purchase> =>
  applySettlementStatus(deps, purchase, await deps.settlement.findStatus(purchase.purchaseId), undefined)
