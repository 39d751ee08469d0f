import { statementOf, supportOf } from '@pohf/protocol/statements'
import type { Claims, CredentialKind } from '@pohf/verify'
import { formatDuration } from '../design/duration.ts'

export const ago = (seconds: number): string => (seconds < 5 ? 'just now' : `${formatDuration(seconds)} ago`)

export const dateOf = (seconds: number): string =>
  `${new Date(seconds * 1_000).toISOString().slice(0, 19).replace('T', ' ')} UTC`

/** The one sentence that says what is so. */
export const kindStatement = (claims: Claims, nowSeconds: number): string =>
  `${statementOf(claims.kind, claims.assurance)}, ${ago(nowSeconds - claims.event_at)}.`

/** What it rests on, in a sentence or two. */
export const assuranceText = (claims: Claims): string =>
  [
    ...(claims.quality === undefined
      ? ['No attention was measured.']
      : [`Attention was scored ${decimals(claims.quality)} of 1, from the behaviour in this one session.`]),
    supportOf(claims.kind, claims.assurance),
  ].join(' ')

/** What 1,000 such credentials cost to forge, or why that is not known. */
export type ForgingPrice =
  | { readonly costPer1000: number; readonly class: string; readonly asOf: number }
  | { readonly unknown: string }
export const priceText = (price: ForgingPrice): string =>
  'unknown' in price
    ? `What 1,000 of these cost to forge is not known. ${price.unknown}`
    : `As of ${new Date(price.asOf * 1_000).toISOString().slice(0, 10)} we know no way to obtain 1,000 of these for less than about $${price.costPer1000.toLocaleString('en', { maximumFractionDigits: 12 })}. Cheaper ways may exist; a single forgery by somebody with a device of their own costs almost nothing. This is an estimate, not a warranty.`

/** Two decimals without the zero before the point. */
export const decimals = (value: number): string => value.toFixed(2).replace(/^0/, '')

const limitsOfKind: Readonly<Record<CredentialKind, readonly string[]>> = {
  view: ['That they understood, liked or believed what they saw.'],
  work: ['That the work is right.'],
  presence: ['That a picture is genuine: its fingerprint was used, not its content.'],
  personhood: ['That it is always the same person who uses the account.'],
  binding: ['That the payment was theirs to make.'],
  purchase: ['That the work is right. Only that it was delivered and paid.'],
  approval: ['That they understood the action, or that the decision is right.'],
}

const uniquenessLimit = (claims: Claims): readonly string[] => {
  const level = claims.uniqueness ?? 'none'
  if (level === 'external') return []
  return level === 'none' || level === 'account'
    ? ['That the same person has no second credential under another name.']
    : ['That the same person has no second device with a second credential.']
}

/** What a reader might believe and must not. */
export const limitsOf = (claims: Claims): readonly string[] =>
  claims.test ? ['Anything. Treat it as if it did not exist, except while you build.'] : liveLimits(claims)

const liveLimits = (claims: Claims): readonly string[] => [
  'Who the person is: there is no name in it.',
  ...limitsOfKind[claims.kind],
  ...(claims.binding?.assurance === 'asserted'
    ? ['That the payment happened: the reference is what the agent said, and nobody looked it up.']
    : []),
  ...uniquenessLimit(claims),
  ...(claims.challenge === undefined
    ? ['That it was made for you: it carries no challenge, so it may be a copy.']
    : []),
  ...(claims.status === undefined
    ? ['That it still stands: it names no status list, so a revocation would not show here.']
    : []),
  'That you are the first to see it. Whoever has the text can show it: keep its id and refuse it the second time.',
]

export const componentNames: Readonly<Record<string, string>> = {
  focus: 'Focus',
  probe: 'Probes',
  input: 'Motion',
  gaze: 'Gaze',
  device: 'Device',
  history: 'History',
}
