import type { Mode } from '@pohf/protocol'
import { post } from '../ledger/index.ts'
import {
  markPaymentSettled,
  markPaymentVoid,
  type Proof,
  type Settlement,
  type Standing,
} from '../payments/index.ts'
import type { PurchaseCredential, PurchaseMint, SignedSale } from '../credentials/index.ts'
import { WorkGone } from '../credentials/index.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction, type Tx } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { publish } from '../platform/queue/outbox.ts'
import { isOpen, nextLookSeconds, paidLines, paymentKind, returnKind } from './rules.ts'
import {
  findPurchase,
  findPurchaseLocked,
  updateDelivered,
  updateDoubt,
  updateEnded,
  updateLater,
  updateSettled,
  type Frozen,
  type Purchase,
} from './store.ts'

/** Where units come from. A rehearsal has no reference: nothing is used up. */
export type Stock = {
  /** Takes one verified, unsold unit, or says that there is none. It is held until it is sold or given back. */
  readonly take: (
    tx: Tx,
    workflowId: string,
    mode: Mode,
  ) => Promise<{ readonly unitRef: string | null; readonly frozen: Frozen } | undefined>
  readonly giveBack: (tx: Tx, unitRef: string | null) => Promise<void>
  readonly sell: (tx: Tx, unitRef: string | null) => Promise<void>
}

/** What is needed to bring a purchase to its end. */
export type Till = {
  readonly ctx: Ctx
  readonly settlement: Settlement
  readonly mint: PurchaseMint
  readonly stock: Stock
  /** Takes back a credential whose payment the chain has undone. */
  readonly revoke: (credentialId: string, reason: string) => Promise<void>
}

/** The money that came, once, in the book of whoever bought. */
const postPaid = (tx: Tx, purchase: Purchase) =>
  post(tx, {
    agentId: purchase.agentId,
    mode: purchase.mode,
    kind: paymentKind,
    reference: purchase.purchaseId,
    lines: paidLines(purchase.amountUsdcMicro),
  })

/** Money that went back, or that the chain has undone. */
export const postReturned = (tx: Tx, purchase: Purchase) =>
  post(tx, {
    agentId: purchase.agentId,
    mode: purchase.mode,
    kind: returnKind,
    reference: purchase.purchaseId,
    lines: paidLines(-purchase.amountUsdcMicro),
  })

const responseOf = (purchase: Purchase, credential: PurchaseCredential, proof: Proof): string =>
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
  till: Till,
  given: {
    readonly purchase: Purchase
    readonly credential: PurchaseCredential
    readonly proof: Proof
    readonly response: string
  },
): Promise<void> => {
  const { purchase, credential, proof, response } = given
  const { agentId, mode, purchaseId, workflowId } = purchase
  await markPaymentSettled(tx, purchaseId, proof)
  const delivered = await updateDelivered(tx, purchase, {
    transactionHash: proof.transactionHash,
    credentialId: credential.credentialId,
    response,
  })
  if (!delivered) throw new Error('a purchase that has ended was to be delivered')
  await postPaid(tx, purchase)
  await till.stock.sell(tx, purchase.unitRef)
  await publish(tx, {
    agentId,
    mode,
    type: 'purchase.settled',
    subject: purchaseId,
    data: { purchaseId, workflowId, txHash: proof.transactionHash, credentialId: credential.credentialId },
  })
  // Last: it holds the account that pays the gas, and the next purchase waits for that.
  await till.settlement.releaseGas(tx, purchaseId)
}

/** Paid, and not delivered yet: the money is in the books, and delivery is tried again until it works. */
const recordSettled = async ({ ctx }: Till, purchase: Purchase, proof: Proof): Promise<void> => {
  await inTransaction(ctx, 'system', async (tx) => {
    await markPaymentSettled(tx, purchase.purchaseId, proof)
    const lookSeconds = nextLookSeconds(purchase.attempts)
    if (!(await updateSettled(tx, purchase, { transactionHash: proof.transactionHash, lookSeconds })))
      await updateLater(tx, purchase, lookSeconds)
    await postPaid(tx, purchase)
  })
}

/** Paid, and never to be delivered: the money must go back, and a person sees to it. */
const recordRefundDue = async ({ ctx }: Till, purchase: Purchase, reason: string): Promise<void> => {
  await inTransaction(ctx, 'system', async (tx) => {
    const { state } = await findPurchaseLocked(tx, purchase)
    if (state !== 'settled') return
    await updateEnded(tx, purchase, { state: 'refund_due', reason })
  })
  ctx.log.error(
    { purchaseId: purchase.purchaseId, reason },
    'a purchase was paid and cannot be delivered: give the money back',
  )
}

/** A credential that was signed while its payment was on the way, for the one transaction that it names. */
export type Early = { readonly transactionHash: string; readonly signed: Promise<SignedSale | undefined> }

const saleOf = (purchase: Purchase, frozen: Frozen, transaction: string) => {
  const { agentId, mode, purchaseId, workflowId, payer } = purchase
  return { agentId, mode, purchaseId, workflowId, payer, transaction, ...frozen }
}

/**
 * Signs while the chain works. It stays in this process until the payment is proven, and is forgotten where the proof is
 * another transaction or none; what goes wrong here is tried again then.
 */
export const signEarly = (till: Till, purchase: Purchase, transactionHash: string): Early | undefined =>
  purchase.frozen === null
    ? undefined
    : {
        transactionHash,
        signed: till.mint.sign(saleOf(purchase, purchase.frozen, transactionHash)).catch(() => undefined),
      }

/** Delivers, and gives back the purchase as it then is; undefined where it has to be read again. */
const deliver = async (
  till: Till,
  purchase: Purchase,
  proof: Proof,
  early: Early | undefined,
): Promise<Purchase | undefined> => {
  const { purchaseId, frozen } = purchase
  if (!frozen) return undefined
  const transaction = proof.transactionHash
  let delivery: Pick<Purchase, 'credentialId' | 'response'> | undefined
  try {
    const ready = early?.transactionHash === transaction ? await early.signed : undefined
    const signed = ready ?? (await till.mint.sign(saleOf(purchase, frozen, transaction)))
    const minted = await till.mint.write(signed, async (tx, credential) => {
      const response = responseOf(purchase, credential, proof)
      await recordDelivery(tx, till, { purchase, credential, proof, response })
      delivery = { credentialId: credential.credentialId, response }
    })
    return minted && delivery
      ? { ...purchase, ...delivery, state: 'delivered', transactionHash: transaction }
      : undefined
  } catch (error) {
    // Whatever went wrong, the payer has paid: that is written down before anything else.
    await recordSettled(till, purchase, proof)
    if (error instanceof WorkGone) await recordRefundDue(till, purchase, error.message)
    else if (!(error instanceof Refusal)) throw error
    else till.ctx.log.warn({ purchaseId, code: error.code }, 'a paid purchase waits for its delivery')
    return undefined
  }
}

/** Nothing was paid, and the chain proves it: what was held is free again. */
const recordVoid = async (
  { ctx, stock, revoke }: Till,
  purchase: Purchase,
  reason: string,
): Promise<void> => {
  const { agentId, mode, purchaseId, workflowId } = purchase
  const ended = await inTransaction(ctx, 'system', async (tx) => {
    const current = await findPurchaseLocked(tx, purchase)
    if (!isOpen(current.state) && current.state !== 'delivered') return undefined
    await markPaymentVoid(tx, purchaseId)
    await updateEnded(tx, purchase, { state: 'void', reason })
    if (current.transactionHash !== null) await postReturned(tx, current)
    // What somebody has read is not put back on the shelf.
    if (current.state !== 'delivered') await stock.giveBack(tx, current.unitRef)
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
export const apply = async (
  till: Till,
  purchase: Purchase,
  standing: Standing,
  early: Early | undefined,
): Promise<Purchase> => {
  const delivered =
    standing.kind === 'settled' ? await deliver(till, purchase, standing.proof, early) : undefined
  if (delivered) return delivered
  if (standing.kind === 'void') await recordVoid(till, purchase, standing.reason)
  return inTransaction(till.ctx, 'system', async (tx) => {
    if (standing.kind === 'pending') {
      const lookSeconds = nextLookSeconds(purchase.attempts)
      await updateDoubt(tx, purchase, { state: standing.sent ? 'broadcast' : 'uncertain', lookSeconds })
    }
    const found = await findPurchase(tx, purchase.purchaseId)
    if (!found) throw new Error('a purchase is gone')
    return found
  })
}

/** Brings a purchase on that somebody began: by what the chain says, and by nothing else. */
export const drive = async (till: Till, purchase: Purchase): Promise<Purchase> =>
  apply(till, purchase, await till.settlement.look(purchase.purchaseId), undefined)
