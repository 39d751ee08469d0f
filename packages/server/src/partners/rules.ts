import { createHash } from 'node:crypto'
import { normalizePayoutAccount, type Mode, type PayoutState } from '@pohf/protocol'
import type { Line } from '../ledger/index.ts'
import { hmacOf } from '../platform/ops/secrets.ts'

/** Equal calls without a key are deduplicated for this long. */
export const deduplicationHours = 24

/** The rate of a partner: `points` points are worth `stars` Stars. */
export type Rate = { readonly stars: bigint; readonly points: bigint }
export const oneToOne: Rate = { stars: 1n, points: 1n }

/** A number of points as the caller wrote it: a whole number of parts, and how many parts are a point. */
export const exactPoints = (points: number): { readonly parts: bigint; readonly perPoint: bigint } => {
  // From 0.000001 to a billion, the text of a number has no exponent.
  const [whole = '0', fraction = ''] = String(points).split('.')
  return { parts: BigInt(whole + fraction), perPoint: 10n ** BigInt(fraction.length) }
}

const greatestDivisor = (a: bigint, b: bigint): bigint => (b === 0n ? a : greatestDivisor(b, a % b))

export type StarsValue = {
  readonly stars: bigint
  /** The part of a Star that rounding down drops, as a fraction such as 1/3, or 0. */
  readonly dropped: string
}
/** What points are worth at a rate, rounded down. No floating point: what is dropped is exact. */
export const worthOf = (points: number, rate: Rate): StarsValue => {
  const { parts, perPoint } = exactPoints(points)
  const [over, under] = [parts * rate.stars, perPoint * rate.points]
  const rest = over % under
  const divisor = greatestDivisor(under, rest)
  return { stars: over / under, dropped: rest === 0n ? '0' : `${rest / divisor}/${under / divisor}` }
}

const sha256 = (...parts: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex')

export const accounts = {
  receivable: 'owed:points',
  payouts: 'world:payouts',
  /** The Stars that a live partner may still convert. */
  limit: 'points_limit',
  limits: 'world:points_limits',
} as const
/** The user's account. A hash, because account names are never deleted and a userRef may be an email address. */
export const userAccountOf = (agentId: string, userRef: string): string =>
  `stars:user:${sha256(agentId, userRef)}`
export const holdAccountOf = (requestId: string): string => `hold:${requestId}`

export const starTransferLines = (from: string, to: string, amount: bigint): Line[] => [
  { account: from, unit: 'star', amount: -amount },
  { account: to, unit: 'star', amount },
]

/**
 * The lines of a conversion: the partner owes the Stars, the user gets them, and a live partner's limit shrinks. Test
 * Stars are never paid out, so they need no limit.
 */
export const conversionLines = (mode: Mode, userAccount: string, stars: bigint): Line[] => [
  ...starTransferLines(accounts.receivable, userAccount, stars),
  ...(mode === 'live' ? starTransferLines(accounts.limit, accounts.limits, stars) : []),
]

export type Conversion = {
  readonly agentId: string
  readonly mode: Mode
  readonly userRef: string
  readonly points: number
  readonly claim: string
}
/** The deduplication key of a call: the caller's key, or a hash of the content. */
export const claimOf = (call: {
  readonly userRef: string
  readonly points: number
  readonly key: string | undefined
}): string => (call.key === undefined ? `same:${sha256(call.userRef, call.points)}` : `key:${call.key}`)
export const hasIdempotencyKey = (claim: string): boolean => claim.startsWith('key:')

/** The reference of the posting. An equal call without a key after the window is a new conversion. */
export const referenceOf = (claim: string, claimedAt: Date): string =>
  hasIdempotencyKey(claim) ? claim : `${claim}:${claimedAt.getTime()}`

const transitions: Readonly<Record<PayoutState, readonly PayoutState[]>> = {
  queued: ['in_review', 'rejected'],
  in_review: ['approved', 'rejected'],
  approved: ['paid', 'rejected'],
  paid: [],
  rejected: [],
}
/** Why this transition is forbidden, or undefined. The database enforces the same. */
export const findTransitionError = (
  payout: { readonly state: PayoutState; readonly reviewedBy: string | null },
  to: PayoutState,
  operator: { readonly operatorId: string; readonly madeBy?: string | undefined },
): string | undefined => {
  if (!transitions[payout.state].includes(to))
    return `This payout is ${payout.state}: it cannot become ${to}.`
  if (to === 'approved' && payout.reviewedBy === operator.operatorId)
    return 'You reviewed this payout. Another operator must approve it.'
  // Over the listener one person can create any number of operators, and so be both the reviewer and the approver.
  if ((to === 'in_review' || to === 'approved') && operator.madeBy !== undefined)
    return 'Another operator made your key. Payouts are reviewed and approved by operators that were created on the machine.'
  return undefined
}

/** How long an account stays taken after its person was erased: as long as an attention check counts. */
export const erasedAccountDays = 180
/** How long an account is kept after it was named or paid for the last time. */
export const unusedAccountDays = 730
/** How long a refused account is shown to reviewers. */
export const accountRefusalDays = 365
/**
 * How many accounts of others a person may name within `takenAccountsDays`, so that nobody finds paid accounts by trying.
 */
export const takenAccountsMax = 3
export const takenAccountsDays = 30

export type PayoutAccount = { readonly hash: Buffer; readonly end: string }
/** What is kept of an account: a keyed hash, and the last characters so that people recognise it. */
export const payoutAccountOf = (key: Buffer, text: string): PayoutAccount | undefined => {
  const account = normalizePayoutAccount(text)
  return account === undefined
    ? undefined
    : { hash: hmacOf(key).update(account).digest(), end: account.slice(-4) }
}
