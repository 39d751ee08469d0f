import { timingSafeEqual } from 'node:crypto'
import type { Network } from '../payments/index.ts'
import { hmacOf } from '../platform/ops/secrets.ts'

/** The terms that a purchase id is signed for: with other terms its MAC does not verify. */
export type PurchaseTerms = {
  /** The workflow of a unit from stock, or the question. */
  readonly subject: string
  readonly amountUsdcMicro: bigint
  readonly network: Network
}

/** How long a quote is valid. */
const quoteSeconds = 600

const macOf = (key: Buffer, terms: PurchaseTerms, head: string): Buffer =>
  hmacOf(key)
    .update(
      JSON.stringify([
        head,
        terms.subject,
        terms.amountUsdcMicro.toString(),
        terms.network.caip2,
        terms.network.asset.toLowerCase(),
        terms.network.payTo.toLowerCase(),
      ]),
    )
    .digest()
    .subarray(0, 16)

/** Signs a random id with its terms and its expiry, so that nothing is stored before a payment. */
export const makePurchaseId = (
  [key]: readonly [Buffer, ...Buffer[]],
  terms: PurchaseTerms,
  issued: { readonly id: string; readonly at: Date },
): string => {
  const head = `${issued.id}.${Math.floor(issued.at.getTime() / 1_000) + quoteSeconds}`
  return `${head}.${macOf(key, terms, head).toString('base64url')}`
}

/** Why an id is refused; undefined for one that we issued for these terms and that has not expired. */
export const purchaseIdError = (
  keys: readonly Buffer[],
  terms: PurchaseTerms,
  presented: { readonly purchaseId: string; readonly at: Date },
): string | undefined => {
  const [, head, expiresSeconds, mac] =
    /^(pur_[a-z0-9]{38}\.(\d{10,12}))\.([A-Za-z0-9_-]{22})$/.exec(presented.purchaseId) ?? []
  const notIssued = 'The purchase id was not issued for this task or question at this price.'
  if (head === undefined || expiresSeconds === undefined || mac === undefined) return notIssued
  // As text: the last character has four unused bits, and an id must have one spelling.
  const isMacOf = (key: Buffer): boolean =>
    timingSafeEqual(Buffer.from(mac), Buffer.from(macOf(key, terms, head).toString('base64url')))
  if (!keys.some(isMacOf)) return notIssued
  if (Number(expiresSeconds) * 1_000 <= presented.at.getTime())
    return 'The purchase id has expired. Request a new challenge and sign again.'
  return undefined
}
