import type { Mode } from '@pohf/protocol'
import { networkOf, type SignedPayment } from '../payments/index.ts'
import { inSingleStatement, inTransaction, type Tx } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { isPending, publicIdOf, secretHashOf } from './rules.ts'
import {
  applySettlementState,
  advancePurchase,
  presignCredential,
  type PurchaseSettlement,
} from './settle.ts'
import { claimPurchase, findPurchase, insertPurchase, type Purchase } from './store.ts'

/** What somebody wants to buy, with a payment whose terms fit. */
export type PurchaseRequest = {
  readonly workflowId: string
  /** The whole id: the one that was quoted, or one made for a client that sent none. */
  readonly purchaseId: string
  readonly payment: SignedPayment
  readonly agentId: `agt_${string}`
  readonly mode: Mode
}

/** `fresh`: this call began it, before anybody but the payer could know the signature. */
export type PurchaseOutcome = { readonly purchase: Purchase; readonly fresh: boolean }

/** How long a call waits for a settlement that another call, or another process, has under way. */
const waitMs = 8_000
const pollMs = 100

/** Looks at a purchase until it has come to an end, and brings it on where nobody else does. */
export const awaitOutcome = async (deps: PurchaseSettlement, first: Purchase): Promise<Purchase> => {
  const { ctx } = deps
  const until = ctx.clock.now().getTime() + waitMs
  for (let purchase = first; ;) {
    if (!isPending(purchase.state) || ctx.clock.now().getTime() >= until) return purchase
    const mine = await inTransaction(ctx, 'system', (tx) => claimPurchase(tx, first.purchaseId))
    if (mine) {
      // A chain that is away changes nothing: what was begun stays in doubt, and the caller is told to come back.
      return advancePurchase(deps, mine).catch((error: unknown) => {
        if (error instanceof Refusal) return mine
        throw error
      })
    }
    await new Promise((resolve) => setTimeout(resolve, pollMs))
    purchase = (await inTransaction(ctx, 'system', (tx) => findPurchase(tx, first.purchaseId))) ?? purchase
  }
}

/** Claims the payment, takes one unit and writes down what will be sent: all of it, or nothing. */
const reservePurchase = async (
  tx: Tx,
  { settlement, stock, ctx }: PurchaseSettlement,
  request: PurchaseRequest,
  verdict: Exclude<Awaited<ReturnType<PurchaseSettlement['settlement']['verify']>>, { kind: 'refused' }>,
) => {
  const { payment, workflowId, mode, agentId } = request
  const purchaseId = publicIdOf(request.purchaseId)
  const { prepared } = verdict
  if (!(await settlement.claim(tx, payment, { prepared, reference: purchaseId }))) return 'taken' as const
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
 * Buys: asks the chain, reserves, sends, delivers. `onSend` is called when the signature is about to leave this house.
 * A payment that is known already is not bought again: what became of it is the answer.
 */
export const settlePurchase = async (
  deps: PurchaseSettlement,
  request: PurchaseRequest,
  onSend: () => void,
): Promise<PurchaseOutcome> => {
  const { ctx, settlement, mint } = deps
  const { payment } = request
  // Both only ask, so they ask at once: a signer that cannot sign stops a purchase before anything is charged.
  const [verdict] = await Promise.all([settlement.verify(payment), mint.ready()])
  if (verdict.kind === 'refused')
    throw new Refusal('payment_invalid', {
      message: `The chain would refuse the payment: ${verdict.reason} Nothing was charged.`,
    })
  const reserved = await inTransaction(ctx, 'system', (tx) => reservePurchase(tx, deps, request, verdict))
  if (reserved === 'taken') return { purchase: await findClaimedPurchase(deps, request), fresh: false }
  onSend()
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
  const fresh = !purchase.needsWallet
  if (verdict.kind === 'spent') {
    const settlementState = { kind: 'settled', proof: verdict.proof } as const
    return { purchase: await applySettlementState(deps, purchase, settlementState, undefined), fresh }
  }
  const reference = purchase.purchaseId
  const sending = settlement.submit({ payment, reference, prepared: verdict.prepared, submission })
  const presigned = submission && presignCredential(deps, purchase, submission.hash)
  return { purchase: await applySettlementState(deps, purchase, await sending, presigned), fresh }
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

/** The purchase that a payment already is, whoever showed it first. */
export const findPurchaseByPayment = async (
  { ctx, settlement }: PurchaseSettlement,
  payment: Pick<SignedPayment, 'authorization'>,
): Promise<Purchase | undefined> => {
  // Payments are nobody's rows, so one statement finds what is nearly always not there.
  const claimed = await inSingleStatement(ctx, (tx) => settlement.find(tx, payment))
  return claimed && inTransaction(ctx, 'system', (tx) => findPurchase(tx, claimed.reference))
}
