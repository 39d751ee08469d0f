import { mandateFault, sha256, type Root, type UseLimit } from '../rules.ts'
import type { OwnTokens, Quote } from '../own-tokens.ts'
import { verifyChain, type ChainContext, type VerifiedChain } from './chain.ts'
import { checkConstraints, checkReference, isMerchant, useLimitOf, type Purchase } from './constraints.ts'
import { isObject } from './sd-jwt.ts'

export type Mandates = { readonly checkout_mandate: string; readonly payment_mandate: string }
/** What the order of two mandates uses up. */
type MandateUses = {
  readonly closed: readonly Buffer[]
  /** Without a limit: once. */
  readonly open: readonly {
    readonly hash: Buffer
    readonly limit: UseLimit | undefined
    readonly until: Date
  }[]
}
export type VerifiedMandates = {
  readonly root: Root
  readonly agentKey: string
  readonly quote: Quote
  readonly uses: MandateUses
}

/** The quote that the closed checkout mandate carries, if it is ours and the mandate names it by its hash. */
const requireQuote = async (tokens: OwnTokens, closed: VerifiedChain['closed'], now: number) => {
  const { checkout_jwt: token, checkout_hash: hash } = closed
  const path = 'checkout_mandate'
  if (typeof token !== 'string')
    throw mandateFault(path, 'quote', 'the closed mandate does not disclose checkout_jwt')
  const transactionId = sha256(token).toString('base64url')
  if (hash !== transactionId)
    throw mandateFault(path, 'checkout_hash', 'checkout_hash is not the hash of checkout_jwt')
  const quote = await tokens.readQuote(token, now)
  if (!quote) throw mandateFault(path, 'quote', 'checkout_jwt is no quote of this service, or it has expired')
  return { quote, transactionId }
}

const checkPayment = (closed: VerifiedChain['closed'], purchase: Purchase, transactionId: string): void => {
  const path = 'payment_mandate'
  const { transaction_id: id, payment_amount: amount, payee } = closed
  if (id !== transactionId)
    throw mandateFault(path, 'transaction_id', 'transaction_id is not the hash of checkout_jwt')
  if (!isObject(amount) || amount['currency'] !== 'USD' || amount['amount'] !== purchase.totalUsdCents)
    throw mandateFault(path, 'amount', 'payment_amount is not the total of the quote')
  if (!isMerchant(purchase, payee)) throw mandateFault(path, 'payee', 'payee is not this service')
}

/** Open mandates work once, unless the person allowed a recurrence of the payment. */
const openUsesOf = (checkout: VerifiedChain, payment: VerifiedChain): MandateUses['open'] =>
  payment.open.flatMap((mandate, index) => {
    const limit = useLimitOf(mandate)
    const paired = checkout.open[index]
    const [until, pairedUntil] = [payment.openUntil, checkout.openUntil]
    if (!paired || !until || !pairedUntil) return []
    const own = { hash: mandate.hash, limit, until }
    return limit ? [own] : [own, { hash: paired.hash, limit: undefined, until: pairedUntil }]
  })

/** Verifies both chains, the quote that they are closed over, and the limits that the person set. */
export const verifyMandates = async (
  context: ChainContext & { readonly tokens: OwnTokens },
  mandates: Mandates,
): Promise<VerifiedMandates> => {
  const { tokens, now } = context
  const checkout = await verifyChain(context, mandates.checkout_mandate, 'checkout')
  const { quote, transactionId } = await requireQuote(tokens, checkout.closed, now)
  const payment = await verifyChain(context, mandates.payment_mandate, 'payment')
  for (const [path, { nonce }] of Object.entries({ checkout_mandate: checkout, payment_mandate: payment }))
    if (nonce !== quote.jti) throw mandateFault(path, 'nonce', 'nonce must be the nonce of the challenge')
  if (payment.root.name !== checkout.root.name || payment.agentKey !== checkout.agentKey)
    throw mandateFault(
      'payment_mandate',
      'pair',
      'the mandates have different issuers or were closed by different keys',
    )
  const { taskType, quantity, totalUsdCents } = quote
  const purchase = { taskType, quantity, totalUsdCents, merchant: tokens.merchant, now }
  checkPayment(payment.closed, purchase, transactionId)
  checkReference(payment.open, checkout.open)
  checkConstraints('checkout', checkout.open, purchase)
  checkConstraints('payment', payment.open, purchase)
  return {
    root: payment.root,
    agentKey: payment.agentKey,
    quote,
    uses: { closed: [checkout.closedHash, payment.closedHash], open: openUsesOf(checkout, payment) },
  }
}
