import type { Claims, CredentialKind } from '@pohf/verify'
import { formatDuration } from '../design/duration.ts'

export const ago = (seconds: number): string => (seconds < 5 ? 'just now' : `${formatDuration(seconds)} ago`)

export const dateOf = (seconds: number): string =>
  `${new Date(seconds * 1_000).toISOString().slice(0, 19).replace('T', ' ')} UTC`

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

/** How one human could still be two subjects of this agent. */
const secondSubject: Readonly<Record<NonNullable<Claims['uniqueness']>, string>> = {
  none: 'under another name',
  account: 'under another name',
  device: 'from a second device',
  attested: 'from a second device',
  number: 'with a second number',
  deposit: 'with a second deposit',
  organization: 'with a second account of this company, or at another one',
  external: 'by an issuer that admits people twice',
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
  `That the same person has no second credential ${secondSubject[claims.uniqueness ?? 'none']}.`,
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
