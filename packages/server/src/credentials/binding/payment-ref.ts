import type { CredentialClaims } from '@pohf/protocol'

type Rail = NonNullable<CredentialClaims['binding']>['rail']

/** Where a payment can be looked up; `none` where nobody here can. */
type PaymentTarget =
  | { readonly kind: 'transfer'; readonly chainId: number; readonly hash: string; readonly log?: number }
  | { readonly kind: 'card'; readonly id: string }
  | { readonly kind: 'own'; readonly id: string }
  | { readonly kind: 'none' }
export type PaymentRef = {
  /** One payment has one way to be written. */
  readonly ref: string
  readonly rail: Rail
  readonly target: PaymentTarget
}
type Read = { readonly rest: string; readonly target: PaymentTarget } | undefined
type Reader = (rest: string) => Read

const none = { kind: 'none' } as const
/** A chain id is at most what a number holds exactly. */
const transferForm = /^eip155:([1-9][0-9]{0,14})\/tx:(0x[0-9a-f]{64})(?:\/log:(0|[1-9][0-9]{0,8}))?$/i
const cardForm = /^(?:pi|cs|ch|py)_[A-Za-z0-9_]{4,200}$/
const bareForm = /^(?:pi|cs)_[A-Za-z0-9_]{4,200}$/
const solanaForm = /^solana:[1-9A-HJ-NP-Za-km-z]{32}\/tx:[1-9A-HJ-NP-Za-km-z]{64,90}$/

const readTransfer: Reader = (rest) => {
  const [whole, chainId, hash = '', log] = transferForm.exec(rest) ?? []
  return whole === undefined
    ? undefined
    : {
        // Hexadecimal digits mean the same in either case.
        rest: whole.toLowerCase(),
        target: {
          kind: 'transfer',
          chainId: Number(chainId),
          hash: hash.toLowerCase(),
          ...(log === undefined ? {} : { log: Number(log) }),
        },
      }
}
const readOwn =
  (form: RegExp): Reader =>
  (rest) =>
    form.test(rest) ? { rest, target: { kind: 'own', id: rest } } : undefined
/** The part of a purchase id after the dot proves who bought: it is never written into a credential. */
export const publicPurchaseId = (id: string): string =>
  id.startsWith('pur_') ? (id.split('.')[0] ?? id) : id
const readPurchase: Reader = (rest) =>
  /^pur_[a-z0-9]{6,64}(?:\.[!-~]{1,200})?$/.test(rest)
    ? { rest: publicPurchaseId(rest), target: { kind: 'own', id: publicPurchaseId(rest) } }
    : undefined
const readCardId: Reader = (rest) =>
  cardForm.test(rest) ? { rest, target: { kind: 'card', id: rest } } : undefined
const readAsIs =
  (form: RegExp): Reader =>
  (rest) =>
    form.test(rest) ? { rest, target: none } : undefined
/** One word and a colon, then what the reader takes. */
const after =
  (word: string, reader: Reader): Reader =>
  (rest) => {
    const at = rest.indexOf(':')
    if (rest.slice(0, at).toLowerCase() !== word) return undefined
    const read = reader(rest.slice(at + 1))
    return read && { ...read, rest: `${word}:${read.rest}` }
  }
const anyOf =
  (...readers: readonly Reader[]): Reader =>
  (rest) => {
    for (const reader of readers) {
      const read = reader(rest)
      if (read) return read
    }
    return undefined
  }

const readers: ReadonlyMap<string, Reader> = new Map([
  ['usdc', readTransfer],
  ['ousd', anyOf(readTransfer, readAsIs(solanaForm))],
  ['x402', anyOf(readPurchase, readTransfer)],
  ['card', anyOf(after('stripe', readCardId), readOwn(/^ord_[a-z0-9]{6,64}(?:\/[1-9][0-9]{0,4})?$/))],
  [
    'mpp',
    anyOf(
      after('tempo', readTransfer),
      after('evm', readTransfer),
      after('stripe', readCardId),
      readAsIs(/^[a-z0-9]{1,32}:[!-~]{1,200}$/),
    ),
  ],
  ['agentpay', readAsIs(/^(?:visa|mastercard|amex|discover):[!-~]{4,128}$/)],
] satisfies [Exclude<Rail, 'other'>, Reader][])

/** Reads any text. What has no known form is rail `other`: taken as it is, and never looked up. */
export const parsePaymentRef = (text: string): PaymentRef => {
  if (bareForm.test(text))
    return { ref: `card:stripe:${text}`, rail: 'card', target: { kind: 'card', id: text } }
  const at = text.indexOf(':')
  const rail = text.slice(0, Math.max(at, 0)).toLowerCase()
  const read = readers.get(rail)?.(text.slice(at + 1))
  return read
    ? { ref: `${rail}:${read.rest}`, rail: rail as Rail, target: read.target }
    : { ref: text, rail: 'other', target: none }
}
