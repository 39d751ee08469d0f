import type { Mode } from '@pohf/protocol'
import { networkOf, type SignedPayment } from '../payments/index.ts'
import { inStatement, inTransaction, type Tx } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { isOpen, publicIdOf, secretHashOf } from './rules.ts'
import { apply, drive, signEarly, type Till } from './settle.ts'
import { claimPurchase, findPurchase, insertPurchase, type Purchase } from './store.ts'

/** What somebody wants to buy, with a payment whose terms fit. */
export type Wanted = {
  readonly workflowId: string
  /** The whole id: the one that was quoted, or one made for a client that sent none. */
  readonly purchaseId: string
  readonly payment: SignedPayment
  readonly agentId: `agt_${string}`
  readonly mode: Mode
}

/** `fresh`: this call began it, before anybody but the payer could know the signature. */
export type Sold = { readonly purchase: Purchase; readonly fresh: boolean }

/** How long a call waits for a settlement that another call, or another process, has under way. */
const waitMs = 8_000
const lookMs = 100

/** Looks at a purchase until it has come to an end, and brings it on where nobody else does. */
export const awaitEnd = async (till: Till, first: Purchase): Promise<Purchase> => {
  const { ctx } = till
  const until = ctx.clock.now().getTime() + waitMs
  for (let purchase = first; ;) {
    if (!isOpen(purchase.state) || ctx.clock.now().getTime() >= until) return purchase
    const mine = await inTransaction(ctx, 'system', (tx) => claimPurchase(tx, first.purchaseId))
    if (mine) {
      // A chain that is away changes nothing: what was begun stays in doubt, and the caller is told to come back.
      return drive(till, mine).catch((error: unknown) => {
        if (error instanceof Refusal) return mine
        throw error
      })
    }
    await new Promise((resolve) => setTimeout(resolve, lookMs))
    purchase = (await inTransaction(ctx, 'system', (tx) => findPurchase(tx, first.purchaseId))) ?? purchase
  }
}

/** Claims the payment, takes one unit and writes down what will be sent: all of it, or nothing. */
const reserve = async (
  tx: Tx,
  { settlement, stock, ctx }: Till,
  wanted: Wanted,
  verdict: Exclude<Awaited<ReturnType<Till['settlement']['verify']>>, { kind: 'refused' }>,
) => {
  const { payment, workflowId, mode, agentId } = wanted
  const purchaseId = publicIdOf(wanted.purchaseId)
  const { prepared } = verdict
  if (!(await settlement.claim(tx, payment, { prepared, reference: purchaseId }))) return 'taken' as const
  const unit = await stock.take(tx, workflowId, mode)
  if (!unit) throw new Refusal('out_of_stock', { message: 'Nothing is in stock. Nothing was charged.' })
  const purchase = {
    agentId,
    mode,
    purchaseId,
    secretHash: secretHashOf(wanted.purchaseId),
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
export const sell = async (till: Till, wanted: Wanted, onSend: () => void): Promise<Sold> => {
  const { ctx, settlement, mint } = till
  const { payment } = wanted
  // Both only ask, so they ask at once: a signer that cannot sign stops a purchase before anything is charged.
  const [verdict] = await Promise.all([settlement.verify(payment), mint.ready()])
  if (verdict.kind === 'refused')
    throw new Refusal('payment_invalid', {
      message: `The chain would refuse the payment: ${verdict.reason} Nothing was charged.`,
    })
  const reserved = await inTransaction(ctx, 'system', (tx) => reserve(tx, till, wanted, verdict))
  if (reserved === 'taken') return { purchase: await findTaken(till, wanted), fresh: false }
  onSend()
  const { submission } = reserved
  const begun: Purchase = {
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
  const fresh = !begun.needsWallet
  if (verdict.kind === 'spent') {
    const standing = { kind: 'settled', proof: verdict.proof } as const
    return { purchase: await apply(till, begun, standing, undefined), fresh }
  }
  const reference = begun.purchaseId
  const sending = settlement.submit({ payment, reference, prepared: verdict.prepared, submission })
  const early = submission && signEarly(till, begun, submission.hash)
  return { purchase: await apply(till, begun, await sending, early), fresh }
}

/** The purchase that has this payment already; a conflict where the id was used with another payment. */
const findTaken = async (till: Till, wanted: Wanted): Promise<Purchase> => {
  const known = await findKnown(till, wanted.payment)
  if (!known)
    throw new Refusal('purchase_conflict', {
      message: 'The purchase id was paid for with another authorization. Nothing was charged now.',
    })
  return awaitEnd(till, known)
}

/** The purchase that a payment already is, whoever showed it first. */
export const findKnown = async (
  { ctx, settlement }: Till,
  payment: Pick<SignedPayment, 'authorization'>,
): Promise<Purchase | undefined> => {
  // Payments are nobody's rows, so one statement finds what is nearly always not there.
  const claimed = await inStatement(ctx, (tx) => settlement.find(tx, payment))
  return claimed && inTransaction(ctx, 'system', (tx) => findPurchase(tx, claimed.reference))
}
