import type { Mode } from '@pohf/protocol'
import { networkOf, type SignedPayment } from '../payments/index.ts'
import { inSingleStatement, inTransaction, type Tx } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { isPending, publicIdOf, secretHashOf } from './rules.ts'
import {
  applySettlementStatus,
  advancePurchase,
  presignCredential,
  type PurchaseSettlement,
} from './settle.ts'
import { claimPurchase, findPurchase, insertPurchase, type Purchase } from './store.ts'

/** A purchase to make, with a payment that matches its terms. */
export type PurchaseRequest = {
  readonly workflowId: string
  /** The whole id: the one that was quoted, or one made for a client that sent none. */
  readonly purchaseId: string
  readonly payment: SignedPayment
  readonly agentId: `agt_${string}`
  readonly mode: Mode
}

/** `isNew`: this call started it, before anybody but the payer could know the signature. */
export type PurchaseOutcome = { readonly purchase: Purchase; readonly isNew: boolean }

/** How long a call waits for a settlement that another call or process has started. */
const waitMs = 8_000
const pollMs = 100

/** Polls a purchase until it has ended, and advances it when its lease is free. */
export const awaitOutcome = async (deps: PurchaseSettlement, first: Purchase): Promise<Purchase> => {
  const { ctx } = deps
  const until = ctx.clock.now().getTime() + waitMs
  for (let purchase = first; ;) {
    if (!isPending(purchase.state) || ctx.clock.now().getTime() >= until) return purchase
    const leased = await inTransaction(ctx, 'system', (tx) => claimPurchase(tx, first.purchaseId))
    if (leased) {
      // An unreachable chain changes nothing: the purchase stays pending, and the caller retries.
      return advancePurchase(deps, leased).catch((error: unknown) => {
        if (error instanceof Refusal) return leased
        throw error
      })
    }
    await new Promise((resolve) => setTimeout(resolve, pollMs))
    purchase = (await inTransaction(ctx, 'system', (tx) => findPurchase(tx, first.purchaseId))) ?? purchase
  }
}

/** Claims the payment, reserves one unit and stores the transaction to submit, in one database transaction. */
const reservePurchase = async (
  tx: Tx,
  { settlement, stock, ctx }: PurchaseSettlement,
  request: PurchaseRequest,
  verdict: Exclude<Awaited<ReturnType<PurchaseSettlement['settlement']['verify']>>, { kind: 'refused' }>,
) => {
  const { payment, workflowId, mode, agentId } = request
  const purchaseId = publicIdOf(request.purchaseId)
  const { prepared } = verdict
  if (!(await settlement.claim(tx, payment, { prepared, reference: purchaseId })))
    return 'already_claimed' as const
  const unit = await stock.reserve(tx, workflowId, mode)
  if (!unit) throw new Refusal('out_of_stock', { message: 'Nothing is in stock. Nothing was charged.' })
  const purchase = {
    agentId,
    mode,
    purchaseId,
    secretHash: secretHashOf(request.purchaseId),
    workflowId,
    network: networkOf(ctx.config).caip2,
    payer: payment.authorization.from,
    amountUsdcMicro: payment.authorization.value,
    needsWallet: verdict.kind === 'spent',
    ...unit,
  }
  await insertPurchase(tx, purchase)
  const submission =
    verdict.kind === 'good' ? await settlement.prepare(tx, payment, purchaseId, prepared) : undefined
  return { purchase, submission }
}

/**
 * Verifies with the chain, reserves, submits, delivers. `onSubmit` is called before the signature is made public.
 * A payment that was claimed before is not settled again: the result is that of its purchase.
 */
export const settlePurchase = async (
  deps: PurchaseSettlement,
  request: PurchaseRequest,
  onSubmit: () => void,
): Promise<PurchaseOutcome> => {
  const { ctx, settlement, mint } = deps
  const { payment } = request
  // Both only read, so they run in parallel: an unreachable signer stops a purchase before anything is charged.
  const [verdict] = await Promise.all([settlement.verify(payment), mint.ready()])
  if (verdict.kind === 'refused')
    throw new Refusal('payment_invalid', {
      message: `The chain would refuse the payment: ${verdict.reason} Nothing was charged.`,
    })
  const reserved = await inTransaction(ctx, 'system', (tx) => reservePurchase(tx, deps, request, verdict))
  if (reserved === 'already_claimed')
    return { purchase: await findClaimedPurchase(deps, request), isNew: false }
  onSubmit()
  const { submission } = reserved
  const purchase: Purchase = {
    ...reserved.purchase,
    state: 'reserved',
    transactionHash: null,
    credentialId: null,
    response: null,
    reason: null,
    createdAt: ctx.clock.now(),
    changedAt: ctx.clock.now(),
    attempts: 0,
  }
  const isNew = !purchase.needsWallet
  if (verdict.kind === 'spent') {
    const status = { kind: 'settled', proof: verdict.proof } as const
    return { purchase: await applySettlementStatus(deps, purchase, status, undefined), isNew }
  }
  const reference = purchase.purchaseId
  const submitted = settlement.submit({ payment, reference, prepared: verdict.prepared, submission })
  const presigned = submission && presignCredential(deps, purchase, submission.hash)
  return { purchase: await applySettlementStatus(deps, purchase, await submitted, presigned), isNew }
}

/** The purchase that has this payment already; a conflict where the id was used with another payment. */
const findClaimedPurchase = async (deps: PurchaseSettlement, request: PurchaseRequest): Promise<Purchase> => {
  const known = await findPurchaseByPayment(deps, request.payment)
  if (!known)
    throw new Refusal('purchase_conflict', {
      message: 'The purchase id was paid for with another authorization. Nothing was charged now.',
    })
  return awaitOutcome(deps, known)
}

/** The purchase that already has this payment, whoever sent it first. */
export const findPurchaseByPayment = async (
  { ctx, settlement }: PurchaseSettlement,
  payment: Pick<SignedPayment, 'authorization'>,
): Promise<Purchase | undefined> => {
  // Payments belong to no tenant, so one statement is enough; almost always it finds nothing.
  const claimed = await inSingleStatement(ctx, (tx) => settlement.find(tx, payment))
  return claimed && inTransaction(ctx, 'system', (tx) => findPurchase(tx, claimed.reference))
}
