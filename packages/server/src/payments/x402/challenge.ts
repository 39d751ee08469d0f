import type { PaymentRequirement } from '@pohf/protocol'
import type { Network } from './network.ts'

/** The price of one purchase. */
type Quote = {
  readonly network: Network
  readonly amountUsdcMicro: bigint
  readonly purchaseId: string
  readonly resource: string
  readonly description: string
  /** Extensions of version 2, by name. */
  readonly extensions: Readonly<Record<string, unknown>>
}

/** How long an authorization should be valid. */
const timeoutSeconds = 120
const mimeType = 'application/json'
const scheme = 'exact'

/** The entry of `accepts[]` in version 1. Its clients parse every field and throw on a missing one. */
export const requirementOf = ({ network, ...quote }: Quote): PaymentRequirement => ({
  scheme,
  network: network.name,
  maxAmountRequired: quote.amountUsdcMicro.toString(),
  resource: quote.resource,
  description: quote.description,
  mimeType,
  payTo: network.payTo,
  maxTimeoutSeconds: timeoutSeconds,
  asset: network.asset,
  extra: { name: network.assetName, version: network.assetVersion },
})

const requiredHeader = ({ network, ...quote }: Quote): string => {
  const required = {
    x402Version: 2,
    error: 'payment_required',
    resource: { url: quote.resource, description: quote.description, mimeType },
    accepts: [
      {
        scheme,
        network: network.caip2,
        amount: quote.amountUsdcMicro.toString(),
        asset: network.asset,
        payTo: network.payTo,
        maxTimeoutSeconds: timeoutSeconds,
        // Version 2 clients return `extra` unchanged, and with it the purchase id.
        extra: {
          name: network.assetName,
          version: network.assetVersion,
          assetTransferMethod: 'eip3009',
          purchaseId: quote.purchaseId,
        },
      },
    ],
    extensions: quote.extensions,
  }
  return Buffer.from(JSON.stringify(required)).toString('base64')
}

/** The headers of the challenge: version 2 clients read the terms here and never the body. */
export const challengeHeaders = (quote: Quote): Record<string, string> => ({
  'payment-required': requiredHeader(quote),
  'x-purchase-id': quote.purchaseId,
  'cache-control': 'no-store',
  vary: 'X-PAYMENT, PAYMENT-SIGNATURE, X-Purchase-Id',
})
