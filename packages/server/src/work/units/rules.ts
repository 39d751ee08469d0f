import type { Mode, assignmentStates, rejectReasons, unitStates } from '@pohf/protocol'
import type { Line } from '../../ledger/index.ts'
import type { Session } from '../../sessions/index.ts'
import { escrowAccountOf } from '../rules.ts'
import { hmacOf } from '../../platform/ops/secrets.ts'

/** The review period, after which a unit is accepted automatically, and the appeal period. */
export const reviewHours = 72
export const appealHours = 72
/**
 * Of the rejections within these days, a buyer decides alone about `rejectionsAloneMax`, or about `rejectedShareMax` of the
 * delivered units if that is more.
 */
export const recentReviewDays = 30
const rejectionsAloneMax = 3
const rejectedShareMax = 0.2
/** How long a funded unit stays open for claims. */
export const openDays = 30
/** The vesting period of Stars, so that neither a stolen card nor careless work becomes a payout. */
export const vestingDays = 14
/** The share of units that a known-answer item is shown for. */
const knownAnswerShare = 0.1
const knownAnswersMin = 5
const knownAnswersCorrectShareMin = 0.6
export const pauseDays = 7
/** A unit that a known-answer item was shown for is open again after 5 minutes to an hour. */
const reopenMinutesMin = 5
const reopenMinutesMax = 60
/** A wrong known answer is rejected after an hour to a day, where the buyer has rejected nothing yet. */
const wrongAnswerMinutesMin = 60
const wrongAnswerMinutesMax = 1_440
/** Fewer measured units say little about how long a kind of work takes. */
export const measuredUnitsMin = 5
/** How many units a person may return or let run out in a day before further claims wait. */
export const returnsMax = 5
export const returnsHours = 24

export type UnitState = (typeof unitStates)[number]
export type AssignmentState = (typeof assignmentStates)[number]
export type RejectReason = (typeof rejectReasons)[number]

/** The time limit of a claim: four times the estimate, 30 minutes at min, a day at most. */
export const claimMinutesOf = (estMinutes: number): number => Math.min(Math.max(30, estMinutes * 4), 1_440)

/** The worker that the buyer of a simulated answer sees. The index of answered units excludes it by this name. */
export const simulatedWorker = 'wrk_simulated'
/** A question can be claimed until this time before it ends, so that a claim leaves time for an answer. */
const answerMinutes = 5
/** Until when the unit of a question can be claimed; undefined for other work. */
export const claimableUntil = (answerBy: string | undefined): Date | undefined =>
  answerBy === undefined ? undefined : new Date(Date.parse(answerBy) - answerMinutes * 60_000)

/** How long a recording was; undefined where it has no duration, as a simulated session has none. */
export const recordedSecondsOf = ({ at, endedAt }: Pick<Session, 'at' | 'endedAt'>): number | undefined => {
  const seconds = endedAt ? Math.round((endedAt.getTime() - at.getTime()) / 1_000) : 0
  return seconds > 0 ? seconds : undefined
}

/** Whether a person is paused in a workflow. One wrong known answer alone never pauses anybody. */
export const failsKnownAnswers = (knownAnswers: number, correct: number): boolean =>
  knownAnswers >= knownAnswersMin && correct / knownAnswers < knownAnswersCorrectShareMin

/**
 * Whether an operator decides about a rejection although the worker did not appeal: a buyer who rejects everything would
 * have the answers for nothing. Both counts include the rejected unit.
 */
export const needsDecision = ({ rejected, delivered }: RecentReviews): boolean =>
  rejected > rejectionsAloneMax && rejected > delivered * rejectedShareMax
export type RecentReviews = { readonly rejected: number; readonly delivered: number }

/** Each field is preceded by its length, so that different lists never give the same input. */
const pseudonymOf = (key: Buffer, fields: readonly string[]): string =>
  fields
    .reduce((mac, field) => mac.update(`${Buffer.byteLength(field)}:`).update(field), hmacOf(key))
    .digest('base64url')
    .slice(0, 32)

/** The pseudonym of a person in Star accounts. Without the key it does not lead to the person. */
export const payeeRefOf = (key: Buffer, personId: string): string =>
  `wrk_${pseudonymOf(key, ['stars', personId])}`
/** The pseudonym of a person for one buyer: different for each buyer. */
export const workerRefOf = (
  key: Buffer,
  worker: { readonly agentId: string; readonly mode: Mode; readonly personId: string },
): string => `wrk_${pseudonymOf(key, ['buyer', worker.agentId, worker.mode, worker.personId])}`
export const sessionChallengeOf = (key: Buffer, assignmentId: string): string =>
  `asg_${pseudonymOf(key, ['challenge', assignmentId])}`
/** Whether a session says of itself that it records an assignment. */
export const isAssignmentSession = ({ kind, challenge }: Pick<Session, 'kind' | 'challenge'>): boolean =>
  kind === 'work' && challenge !== null && challenge.startsWith('asg_')

/** A number from 0 up to 1, always the same for one person and one text. Only the key tells it. */
export const personalFractionOf = (key: Buffer, personId: string, text: string): number =>
  hmacOf(key)
    .update(`known ${Buffer.byteLength(personId)}:${personId}${text}`)
    .digest()
    .readUIntBE(0, 6) /
  2 ** 48

/**
 * Whether a person is shown a known-answer item in place of this unit. It depends on the person and the unit alone, so
 * a person who returns a unit and claims again is shown the same item.
 */
export const isKnownAnswerDue = (key: Buffer, personId: string, unit: UnitName): boolean =>
  personalFractionOf(key, personId, unitReference(unit.orderId, unit.n)) < knownAnswerShare

const minutesBetween = (fraction: number, min: number, max: number): number =>
  min + Math.floor(fraction * (max - min))
export const reopenMinutesOf = (fraction: number): number =>
  minutesBetween(fraction, reopenMinutesMin, reopenMinutesMax)
/**
 * When a known answer is graded: after a time that this buyer took to review such a unit, or after a default time where the
 * buyer has reviewed none.
 */
export const gradingMinutesOf = (
  isCorrect: boolean,
  observedMinutes: readonly number[],
  fraction: number,
): number => {
  const observed = observedMinutes[Math.floor(fraction * observedMinutes.length)]
  if (observed !== undefined) return Math.min(Math.max(1, observed), reviewHours * 60)
  return isCorrect ? reviewHours * 60 : minutesBetween(fraction, wrongAnswerMinutesMin, wrongAnswerMinutesMax)
}

/** Ledger accounts of units: US cents in the buyer's ledger, Stars in that of the platform agent. */
export const workAccounts = {
  revenue: 'revenue:work',
  backing: 'backing:stars',
  operator: 'world:operator',
  stars: 'world:stars',
} as const
export const vestingAccountOf = (worker: string): string => `vesting:${worker}`

const withoutZero = (lines: readonly Line[]): Line[] => lines.filter((line) => line.amount !== 0n)
const min = (a: bigint, b: bigint): bigint => (a < b ? a : b)

/** A Star is a cent: the reward goes to the account that backs Stars, the rest is revenue. */
export const paymentLines = (orderId: string, price: bigint, rewardStars: number): Line[] => {
  const backing = min(BigInt(rewardStars), price)
  return withoutZero([
    { account: escrowAccountOf(orderId), unit: 'usd_cent', amount: -price },
    { account: workAccounts.backing, unit: 'usd_cent', amount: backing },
    { account: workAccounts.revenue, unit: 'usd_cent', amount: price - backing },
  ])
}
/** The operator pays the reward of a unit whose payment was charged back. */
export const platformPaymentLines = (rewardStars: number): Line[] =>
  withoutZero([
    { account: workAccounts.operator, unit: 'usd_cent', amount: -BigInt(rewardStars) },
    { account: workAccounts.backing, unit: 'usd_cent', amount: BigInt(rewardStars) },
  ])
/** Returns escrow to the buyer by way of `unused:card` or `unused:chain`, or to the operator. */
export const returnLines = (orderId: string, amount: bigint, to: string): Line[] => [
  { account: escrowAccountOf(orderId), unit: 'usd_cent', amount: -amount },
  { account: to, unit: 'usd_cent', amount },
]
export const starLines = (from: string, to: string, stars: bigint): Line[] => [
  { account: from, unit: 'star', amount: -stars },
  { account: to, unit: 'star', amount: stars },
]

type UnitName = { readonly orderId: string; readonly n: number }
export const unitReference = (orderId: string, n: number): string => `${orderId}/${n}`
