import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Network } from '../payments/index.ts'

/** What a purchase id holds for; change any of it and the id is no longer genuine. */
export type PurchaseTerms = {
  readonly workflowId: string
  readonly amountUsdcMicro: bigint
  readonly network: Network
}

/** How long a quote stands. */
const quoteSeconds = 600

const macOf = (key: Buffer, terms: PurchaseTerms, head: string): Buffer =>
  createHmac('sha256', key)
    .update(
      JSON.stringify([
        head,
        terms.workflowId,
        terms.amountUsdcMicro.toString(),
        terms.network.caip2,
        terms.network.asset.toLowerCase(),
        terms.network.payTo.toLowerCase(),
      ]),
    )
    .digest()
    .subarray(0, 16)

/** Signs a random id over its terms and its end, so that nothing has to be stored before somebody pays. */
export const makePurchaseId = (
  key: Buffer,
  terms: PurchaseTerms,
  issued: { readonly id: string; readonly at: Date },
): string => {
  const head = `${issued.id}.${Math.floor(issued.at.getTime() / 1_000) + quoteSeconds}`
  return `${head}.${macOf(key, terms, head).toString('base64url')}`
}

/** Why an id is refused, or undefined for one that we gave for these terms and that still stands. */
export const purchaseIdError = (
  key: Buffer,
  terms: PurchaseTerms,
  presented: { readonly purchaseId: string; readonly at: Date },
): string | undefined => {
  const [, head, end, mac] =
    /^(pur_[a-z0-9]{38}\.(\d{10,12}))\.([A-Za-z0-9_-]{22})$/.exec(presented.purchaseId) ?? []
  const unknown = 'The purchase id was not given for this task at this price.'
  if (head === undefined || end === undefined || mac === undefined) return unknown
  // As text: the last character has four bits to spare, and an id has one way to be written.
  const right = macOf(key, terms, head).toString('base64url')
  if (!timingSafeEqual(Buffer.from(mac), Buffer.from(right))) return unknown
  if (Number(end) * 1_000 <= presented.at.getTime())
    return 'The purchase id ran out. Ask for a new challenge and sign again.'
  return undefined
}
