import { PohfError } from './error.ts'
import { PurchaseError } from './purchase-error.ts'
import type { Answer } from './send.ts'

/** What one response says about a purchase. */
export type PurchaseOutcome =
  | { readonly kind: 'delivered'; readonly delivery: unknown }
  | { readonly kind: 'open'; readonly why: string }
  /** Nothing was charged, and a retry may succeed. */
  | { readonly kind: 'retryable'; readonly error: PohfError }
  | { readonly kind: 'failed'; readonly error: PurchaseError }

type PurchaseStatus = {
  readonly status?: unknown
  readonly purpose?: unknown
  readonly reason?: unknown
  readonly delivery?: unknown
}

/** The outcome of a stored purchase, by its status. */
const outcomeOfStatus = (body: unknown, purchaseId: string): PurchaseOutcome => {
  const { status, purpose, reason, delivery } = (
    typeof body === 'object' && body !== null ? body : {}
  ) as PurchaseStatus
  if (delivery !== undefined) return { kind: 'delivered', delivery }
  if (status === 'delivered' && purpose === 'question') {
    const message = 'The payment paid a question. Read the question: its answer is there.'
    return { kind: 'failed', error: new PurchaseError('refused', message, { charged: 'yes', purchaseId }) }
  }
  const because = typeof reason === 'string' ? ` ${reason}.` : ''
  if (status === 'void') {
    const error = new PurchaseError('void', `The payment was not made.${because}`, { purchaseId })
    return { kind: 'failed', error }
  }
  if (status === 'refund_due' || status === 'refunded') {
    const refund = status === 'refunded' ? 'was refunded' : 'will be refunded'
    const message = `Paid, but nothing could be delivered: the payment ${refund}.${because}`
    return { kind: 'failed', error: new PurchaseError('refunded', message, { charged: 'yes', purchaseId }) }
  }
  return { kind: 'open', why: `the payment is ${typeof status === 'string' ? status : 'under way'}` }
}

/** Refusals before anything is charged, which end by themselves. */
const retryableCodes: ReadonlySet<string> = new Set(['chain_unreachable', 'contract_wallet_busy'])

const outcomeOfError = ({ status, body }: Answer, purchaseId: string): PurchaseOutcome => {
  const error = new PohfError(status, body)
  if (retryableCodes.has(error.code) || status === 429) return { kind: 'retryable', error }
  // The service may have failed after the payment was sent. It refuses a contract wallet before that.
  if (status >= 500 && error.code !== 'contract_wallets_paused')
    return { kind: 'open', why: `the service answered ${status}` }
  const code = status === 404 ? 'not_found' : 'refused'
  return { kind: 'failed', error: new PurchaseError(code, error.message, { purchaseId, cause: error }) }
}

/** A 402 means that nothing was sent; another refusal does not say how an earlier attempt ended. */
export const isInconclusive = ({ code, cause }: PurchaseError): boolean =>
  code === 'refused' && cause instanceof PohfError && cause.status !== 402 && cause.code !== 'out_of_stock'

/** The outcome of a request with a payment. */
export const outcomeOfPayment = (answer: Answer, purchaseId: string): PurchaseOutcome => {
  if (answer.status === 200) return { kind: 'delivered', delivery: answer.body }
  return answer.status === 202 ? outcomeOfStatus(answer.body, purchaseId) : outcomeOfError(answer, purchaseId)
}

/** The outcome of reading a purchase. */
export const outcomeOfRead = (answer: Answer, purchaseId: string): PurchaseOutcome =>
  answer.status === 200 ? outcomeOfStatus(answer.body, purchaseId) : outcomeOfError(answer, purchaseId)
