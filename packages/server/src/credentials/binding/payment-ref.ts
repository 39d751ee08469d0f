import type { CredentialClaims } from '@pohf/protocol'

type Rail = NonNullable<CredentialClaims['binding']>['rail']

/** Where a payment can be looked up; `none` when no lookup exists. */
type PaymentTarget =
  | { readonly kind: 'transfer'; readonly chainId: number; readonly hash: string; readonly log?: number }
  | { readonly kind: 'card'; readonly id: string }
  | { readonly kind: 'own'; readonly id: string }
  | { readonly kind: 'none' }
export type PaymentRef = {
  /** The canonical form: one payment has one reference. */
  readonly ref: string
  readonly rail: Rail
  readonly target: PaymentTarget
}
type ParsedRest = { readonly rest: string; readonly target: PaymentTarget } | undefined
type RefParser = (rest: string) => ParsedRest

const none = { kind: 'none' } as const
/** At most 15 digits: a chain id must be a safe integer. */
const transferPattern = /^eip155:([1-9][0-9]{0,14})\/tx:(0x[0-9a-f]{64})(?:\/log:(0|[1-9][0-9]{0,8}))?$/i
const cardPattern = /^(?:pi|cs|ch|py)_[A-Za-z0-9_]{4,200}$/
const bareCardPattern = /^(?:pi|cs)_[A-Za-z0-9_]{4,200}$/
const solanaPattern = /^solana:[1-9A-HJ-NP-Za-km-z]{32}\/tx:[1-9A-HJ-NP-Za-km-z]{64,90}$/

const parseTransfer: RefParser = (rest) => {
  const [whole, chainId, hash = '', log] = transferPattern.exec(rest) ?? []
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
const parseOwnId =
  (form: RegExp): RefParser =>
  (rest) =>
    form.test(rest) ? { rest, target: { kind: 'own', id: rest } } : undefined
/** The part of a purchase id after the dot is the buyer's secret; it is never written into a credential. */
export const publicPurchaseId = (id: string): string =>
  id.startsWith('pur_') ? (id.split('.')[0] ?? id) : id
const parsePurchase: RefParser = (rest) =>
  /^pur_[a-z0-9]{6,64}(?:\.[!-~]{1,200})?$/.test(rest)
    ? { rest: publicPurchaseId(rest), target: { kind: 'own', id: publicPurchaseId(rest) } }
    : undefined
const parseCardId: RefParser = (rest) =>
  cardPattern.test(rest) ? { rest, target: { kind: 'card', id: rest } } : undefined
const parseVerbatim =
  (form: RegExp): RefParser =>
  (rest) =>
    form.test(rest) ? { rest, target: none } : undefined
/** Parses a prefix and a colon, then the rest with the given parser. */
const withPrefix =
  (word: string, reader: RefParser): RefParser =>
  (rest) => {
    const at = rest.indexOf(':')
    if (rest.slice(0, at).toLowerCase() !== word) return undefined
    const read = reader(rest.slice(at + 1))
    return read && { ...read, rest: `${word}:${read.rest}` }
  }
const anyOf =
  (...parsersByRail: readonly RefParser[]): RefParser =>
  (rest) => {
    for (const reader of parsersByRail) {
      const read = reader(rest)
      if (read) return read
    }
    return undefined
  }

const parsersByRail: ReadonlyMap<string, RefParser> = new Map([
  ['usdc', parseTransfer],
  ['ousd', anyOf(parseTransfer, parseVerbatim(solanaPattern))],
  ['x402', anyOf(parsePurchase, parseTransfer)],
  [
    'card',
    anyOf(withPrefix('stripe', parseCardId), parseOwnId(/^ord_[a-z0-9]{6,64}(?:\/[1-9][0-9]{0,4})?$/)),
  ],
  [
    'mpp',
    anyOf(
      withPrefix('tempo', parseTransfer),
      withPrefix('evm', parseTransfer),
      withPrefix('stripe', parseCardId),
      parseVerbatim(/^[a-z0-9]{1,32}:[!-~]{1,200}$/),
    ),
  ],
  ['agentpay', parseVerbatim(/^(?:visa|mastercard|amex|discover):[!-~]{4,128}$/)],
] satisfies [Exclude<Rail, 'other'>, RefParser][])

/** Parses any text. An unknown form has rail `other`, is kept verbatim and never looked up. */
export const parsePaymentRef = (text: string): PaymentRef => {
  if (bareCardPattern.test(text))
    return { ref: `card:stripe:${text}`, rail: 'card', target: { kind: 'card', id: text } }
  const at = text.indexOf(':')
  const rail = text.slice(0, Math.max(at, 0)).toLowerCase()
  const read = parsersByRail.get(rail)?.(text.slice(at + 1))
  return read
    ? { ref: `${rail}:${read.rest}`, rail: rail as Rail, target: read.target }
    : { ref: text, rail: 'other', target: none }
}
