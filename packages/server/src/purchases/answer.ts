import { Answer } from '../platform/http/call.ts'
import type { Config } from '../platform/ops/config.ts'
import { Refusal } from '../platform/http/errors.ts'
import { recoveryMessage, type PurchaseState } from './rules.ts'
import type { Purchase } from './store.ts'

/** Who asks, and how it paid. */
export type Asker = {
  /** Whether it has shown that it is who bought: the secret id, the wallet, the key, or it was there from the start. */
  readonly proven: boolean
  /** The whole id, for the one who began without one. */
  readonly purchaseId: string | undefined
  readonly header: 'x-payment' | 'payment-signature'
  readonly network: string
}

const messages: Readonly<Record<PurchaseState, string>> = {
  reserved: 'The payment is on its way. Do not pay again: ask again, or read the status.',
  broadcast: 'The payment is on its way. Do not pay again: ask again, or read the status.',
  uncertain: 'The chain has not answered yet. Do not pay again: ask again, or read the status.',
  settled: 'The payment has arrived and the delivery follows. Ask again, or read the status.',
  delivered:
    'This payment was delivered. Everybody can read it off the chain, so show the whole purchase id or a proof by the wallet.',
  void: 'Nothing was paid.',
  refund_due: 'The payment has arrived and nothing can be delivered. It will be given back.',
  refunded: 'The payment was given back.',
}

export const recoverOf = (config: Pick<Config, 'BASE_URL'>, purchaseId: string) => ({
  message: recoveryMessage(config.BASE_URL, purchaseId, '{time}'),
})

const statusUrl = (config: Pick<Config, 'BASE_URL'>, purchaseId: string): string =>
  `${config.BASE_URL}/api/agent/purchases/${purchaseId}`

const responseHeader = (asker: Asker, purchase: Purchase): Record<string, string> => {
  const receipt = {
    success: true,
    transaction: purchase.transactionHash,
    network: asker.network,
    payer: purchase.payer,
  }
  const name = asker.header === 'x-payment' ? 'x-payment-response' : 'payment-response'
  return { [name]: Buffer.from(JSON.stringify(receipt)).toString('base64') }
}

/** Nobody between us and the buyer may keep it, and pages may read its headers. */
const common = (asker: Asker): Record<string, string> => ({
  'cache-control': 'no-store',
  vary: 'X-PAYMENT, PAYMENT-SIGNATURE, X-Purchase-Id',
  'access-control-expose-headers':
    'PAYMENT-RESPONSE, X-PAYMENT-RESPONSE, X-Purchase-Id, X-Request-Id, Retry-After',
  ...(asker.purchaseId === undefined ? {} : { 'x-purchase-id': asker.purchaseId }),
})

const retryAfterSeconds = '2'

/** How a payment that is not delivered, or not to this caller, is answered: never as a failure. */
export const pendingAnswer = (
  config: Pick<Config, 'BASE_URL'>,
  shown: { readonly purchaseId: string; readonly workflowId: string; readonly state: PurchaseState },
  asker: Asker,
) =>
  new Answer(
    {
      purchaseId: shown.purchaseId,
      workflowId: shown.workflowId,
      status: shown.state,
      statusUrl: statusUrl(config, (asker.proven ? asker.purchaseId : undefined) ?? shown.purchaseId),
      message: messages[shown.state],
      ...(asker.proven ? {} : { recover: recoverOf(config, shown.purchaseId) }),
    },
    { status: 202, headers: { ...common(asker), 'retry-after': retryAfterSeconds } },
  )

/** What is said about a purchase to whoever showed its payment: the stored bytes, or how it stands. */
export const answerOf = (config: Pick<Config, 'BASE_URL'>, purchase: Purchase, asker: Asker) => {
  if (purchase.state === 'void')
    throw new Refusal('payment_invalid', {
      message: `The payment did not settle: ${purchase.reason ?? 'it ended'}. Nothing was charged. Sign a new one.`,
    })
  if (purchase.state !== 'delivered' || purchase.response === null || !asker.proven)
    return pendingAnswer(config, purchase, asker)
  return new Answer(undefined, {
    headers: {
      ...common(asker),
      ...responseHeader(asker, purchase),
      ...(purchase.mode === 'test' && purchase.unitRef === null ? { 'x-sandbox': 'simulated' } : {}),
    },
    raw: { mediaType: 'application/json; charset=utf-8', text: purchase.response },
  })
}
