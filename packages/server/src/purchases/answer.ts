import { challengeHeaders, requirementOf } from '../payments/index.ts'
import { ApiResponse } from '../platform/http/call.ts'
import type { Config } from '../platform/ops/config.ts'
import { Refusal, errorBodyOf } from '../platform/http/errors.ts'
import type { PurchaseCaller, Product } from './flow.ts'
import type { PurchaseTerms } from './id.ts'
import { recoveryMessage, type PurchaseState } from './rules.ts'
import type { Purchase } from './store.ts'

type Challenge = {
  readonly product: Pick<Product, 'path' | 'extensions'>
  readonly title: string
  readonly terms: PurchaseTerms
  readonly purchaseId: string
  readonly requestId: string
}
/** The response to a call without payment: 402 with the terms, for both versions of x402. */
export const challengeResponse = (config: Pick<Config, 'BASE_URL'>, challenge: Challenge) => {
  const { product, title, terms, purchaseId, requestId } = challenge
  const quote = {
    network: terms.network,
    amountUsdcMicro: terms.amountUsdcMicro,
    purchaseId,
    resource: `${config.BASE_URL}${product.path}`,
    description: title,
    extensions: product.extensions,
  }
  const { error, ...errorBody } = errorBodyOf(new Refusal('payment_required'), requestId, config.BASE_URL)
  return new ApiResponse(
    {
      x402Version: 1 as const,
      error,
      accepts: [requirementOf(quote)],
      purchase_id: purchaseId,
      ...errorBody,
    },
    { status: 402, headers: challengeHeaders(quote) },
  )
}

const messages: Readonly<Record<PurchaseState, string>> = {
  reserved: 'The payment is on its way. Do not pay again: ask again, or read the status.',
  broadcast: 'The payment is on its way. Do not pay again: ask again, or read the status.',
  uncertain: 'The chain has not answered yet. Do not pay again: ask again, or read the status.',
  settled: 'The payment has arrived and the delivery follows. Ask again, or read the status.',
  delivered:
    'This payment was delivered. Everybody can read it off the chain, so show the whole purchase id or a proof by the wallet.',
  void: 'Nothing was paid.',
  refund_due: 'The payment has arrived, but nothing can be delivered. It will be refunded.',
  refunded: 'The payment was refunded.',
}

export const recoverOf = (config: Pick<Config, 'BASE_URL'>, purchaseId: string) => ({
  message: recoveryMessage(config.BASE_URL, purchaseId, '{time}'),
})

const statusUrl = (config: Pick<Config, 'BASE_URL'>, purchaseId: string): string =>
  `${config.BASE_URL}/api/agent/purchases/${purchaseId}`

const responseHeader = (caller: PurchaseCaller, purchase: Purchase): Record<string, string> => {
  const receipt = {
    success: true,
    transaction: purchase.transactionHash,
    network: caller.network,
    payer: purchase.payer,
  }
  const name = caller.header === 'x-payment' ? 'x-payment-response' : 'payment-response'
  return { [name]: Buffer.from(JSON.stringify(receipt)).toString('base64') }
}

/** No cache may store the response. */
const commonHeaders = (caller: PurchaseCaller): Record<string, string> => ({
  'cache-control': 'no-store',
  vary: 'X-PAYMENT, PAYMENT-SIGNATURE, X-Purchase-Id',
  ...(caller.purchaseId === undefined ? {} : { 'x-purchase-id': caller.purchaseId }),
})

const retryAfterSeconds = '2'

/** The response to a payment that is not delivered, or not to this caller: 202, never an error. */
export const pendingResponse = (
  config: Pick<Config, 'BASE_URL'>,
  purchase: { readonly purchaseId: string; readonly workflowId: string; readonly state: PurchaseState },
  caller: PurchaseCaller,
) =>
  new ApiResponse(
    {
      purchaseId: purchase.purchaseId,
      workflowId: purchase.workflowId,
      status: purchase.state,
      statusUrl: statusUrl(config, (caller.isBuyer ? caller.purchaseId : undefined) ?? purchase.purchaseId),
      message: messages[purchase.state],
      ...(caller.isBuyer ? {} : { recover: recoverOf(config, purchase.purchaseId) }),
    },
    { status: 202, headers: { ...commonHeaders(caller), 'retry-after': retryAfterSeconds } },
  )

/** The response to a caller that sent the payment of this purchase: the stored bytes, or the state. */
export const purchaseResponseOf = (
  config: Pick<Config, 'BASE_URL'>,
  purchase: Purchase,
  caller: PurchaseCaller,
) => {
  if (purchase.state !== 'delivered' || purchase.response === null || !caller.isBuyer)
    return pendingResponse(config, purchase, caller)
  return new ApiResponse(undefined, {
    headers: {
      ...commonHeaders(caller),
      ...responseHeader(caller, purchase),
      ...(purchase.mode === 'test' && purchase.unitRef === null ? { 'x-sandbox': 'simulated' } : {}),
    },
    raw: { mediaType: 'application/json; charset=utf-8', text: purchase.response },
  })
}

/** The response to a caller that paid its question: the question as it is now, with the receipt. */
export const questionResponseOf = <Question extends object>(
  config: Pick<Config, 'BASE_URL'>,
  purchase: Purchase,
  { caller, question }: { readonly caller: PurchaseCaller; readonly question: Question },
) => {
  const { network, transactionHash, payer, amountUsdcMicro, purchaseId } = purchase
  if (purchase.state !== 'delivered' || transactionHash === null)
    return pendingResponse(config, purchase, caller)
  const payment = {
    purchaseId,
    network,
    transaction: transactionHash,
    payer,
    amount: amountUsdcMicro.toString(),
  }
  return new ApiResponse(
    { ...question, payment },
    { headers: { ...commonHeaders(caller), ...responseHeader(caller, purchase) } },
  )
}
