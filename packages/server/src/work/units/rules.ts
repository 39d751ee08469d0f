import { createHmac } from 'node:crypto'
import type { AnswerForm, InputForm, Mode, assignmentStates, rejectReasons, unitStates } from '@pohf/protocol'
import type { Line } from '../../ledger/index.ts'
import { cardAccounts, escrowAccountOf } from '../rules.ts'

/** How long a buyer may look before a unit counts as accepted, and a person may appeal. */
export const reviewHours = 72
export const appealHours = 72
/** How long a funded unit waits for a person. */
export const openDays = 30
/** Stars from card-funded work: a stolen card must not become a payout. */
export const vestingDays = 14
/** Gold: the first unit of a person in a workflow, then so many. */
export const knownAnswerShare = 0.1
const knownAnswersMin = 5
const knownAnswersCorrectShareMin = 0.6
export const pauseDays = 7

/** What people do in an order, and what a unit pays. Fixed when it is ordered, or when an operator accepts it. */
export type Terms = {
  readonly title: string
  readonly description: string
  readonly category: string
  readonly steps: readonly string[]
  readonly estMinutes: number
  readonly rewardStars: number
  readonly inputForm: InputForm
  readonly answerForm: AnswerForm
  /** Shown in turn where the buyer sent no items. */
  readonly samples: readonly unknown[]
  /** Of a gold unit: what is known to be right. */
  readonly goldAnswer?: unknown
}

export type UnitState = (typeof unitStates)[number]
export type AssignmentState = (typeof assignmentStates)[number]
export type RejectReason = (typeof rejectReasons)[number]

/** How long a person may take: four times what is expected, half an hour at least, a day at most. */
export const claimMinutesOf = (estMinutes: number): number => Math.min(Math.max(30, estMinutes * 4), 1_440)

/** After so many golds with so few of them right, a person pauses. One miss alone never does it. */
export const failsKnownAnswers = (golds: number, right: number): boolean =>
  golds >= knownAnswersMin && right / golds < knownAnswersCorrectShareMin

/** Fields with their lengths, so that no two lists read alike. */
const pseudonymOf = (key: Buffer, fields: readonly string[]): string =>
  fields
    .reduce(
      (mac, field) => mac.update(`${Buffer.byteLength(field)}:`).update(field),
      createHmac('sha256', key),
    )
    .digest('base64url')
    .slice(0, 32)

/** Whose Stars they are, in the operator's book. Without the person's row nothing leads back from it. */
export const payeeRefOf = (key: Buffer, personId: string): string =>
  `wrk_${pseudonymOf(key, ['stars', personId])}`
/** The person as one buyer sees them: another code for each buyer. */
export const workerRefOf = (
  key: Buffer,
  worker: { readonly agentId: string; readonly mode: Mode; readonly personId: string },
): string => `wrk_${pseudonymOf(key, ['buyer', worker.agentId, worker.mode, worker.personId])}`
export const sessionChallengeOf = (key: Buffer, assignmentId: string): string =>
  `asg_${pseudonymOf(key, ['challenge', assignmentId])}`

/** Where the value of units is: in US cents in the buyer's book, in Stars in the operator's. */
export const workAccounts = {
  revenue: 'revenue:work',
  backing: 'backing:stars',
  operator: 'world:operator',
  stars: 'world:stars',
} as const
export const vestingAccountOf = (worker: string): string => `vesting:${worker}`

const withoutZero = (lines: readonly Line[]): Line[] => lines.filter((line) => line.amount !== 0n)
const least = (a: bigint, b: bigint): bigint => (a < b ? a : b)

/** A Star is a cent: what the person gets is set aside, the rest is ours. */
export const paymentLines = (orderId: string, price: bigint, rewardStars: number): Line[] => {
  const backing = least(BigInt(rewardStars), price)
  return withoutZero([
    { account: escrowAccountOf(orderId), unit: 'usd_cent', amount: -price },
    { account: workAccounts.backing, unit: 'usd_cent', amount: backing },
    { account: workAccounts.revenue, unit: 'usd_cent', amount: price - backing },
  ])
}
/** What the operator pays for a unit whose buyer took the money back. */
export const platformPaymentLines = (rewardStars: number): Line[] =>
  withoutZero([
    { account: workAccounts.operator, unit: 'usd_cent', amount: -BigInt(rewardStars) },
    { account: workAccounts.backing, unit: 'usd_cent', amount: BigInt(rewardStars) },
  ])
/** Money that no unit needs any more: back to the buyer by way of `unused:card`, or to the operator. */
export const returnLines = (orderId: string, amount: bigint, isPlatformOrder: boolean): Line[] => [
  { account: escrowAccountOf(orderId), unit: 'usd_cent', amount: -amount },
  { account: isPlatformOrder ? workAccounts.operator : cardAccounts.unused, unit: 'usd_cent', amount },
]
export const starLines = (from: string, to: string, stars: bigint): Line[] => [
  { account: from, unit: 'star', amount: -stars },
  { account: to, unit: 'star', amount: stars },
]

export const unitReference = (orderId: string, n: number): string => `${orderId}/${n}`
