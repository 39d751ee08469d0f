import { packNames, type PackName, type Usage } from '@pohf/protocol'
import type { Line } from '../ledger/index.ts'

/** The accounts of this module; the unit is always `credit`. */
export const accounts = {
  balance: 'credits',
  debt: 'owed:credits',
  purchases: 'world:purchases',
  grants: 'world:credit_grants',
  freePlan: 'world:free_plan',
  sandbox: 'world:sandbox',
  consumed: { free: 'consumed:free', credit: 'consumed:credit', test: 'consumed:test' },
} as const

/** The pack that a checkout is for. */
export const packOf = (reference: string): PackName => {
  const pack = packNames.find((name) => name === reference)
  if (!pack) throw new Error(`unknown credit pack ${reference} in a checkout`)
  return pack
}

/** The calendar month in UTC, as it is written in account names. */
export const monthOf = (at: Date): string => at.toISOString().slice(0, 7)
export const freeAccountOf = (month: string): string => `free:${month}`
export const nextMonth = (at: Date): Date => new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1))

export const transferLines = (from: string, to: string, amount: bigint): Line[] => [
  { account: from, unit: 'credit', amount: -amount },
  { account: to, unit: 'credit', amount },
]

/** The lines of new credits: what is owed is settled first, the rest is the agent's. `debt` is zero or less. */
export const purchaseLines = (
  credits: bigint,
  debt: bigint,
  from: typeof accounts.purchases | typeof accounts.grants = accounts.purchases,
): Line[] => {
  const settled = -debt < credits ? -debt : credits
  const lines: Line[] = [
    { account: from, unit: 'credit', amount: -credits },
    { account: accounts.debt, unit: 'credit', amount: settled },
    { account: accounts.balance, unit: 'credit', amount: credits - settled },
  ]
  return lines.filter((line) => line.amount !== 0n)
}

/** The credits of a pack that belong to a reversed part of its price, rounded down in favour of the agent. */
export const reversedCredits = (credits: bigint, reversedUsdCents: bigint, amountUsdCents: bigint): bigint =>
  (credits * reversedUsdCents) / amountUsdCents

type ReversedCents = {
  readonly amountUsdCents: bigint
  readonly refundedUsdCents: bigint
  readonly lostUsdCents: bigint
  readonly openUsdCents: bigint
}
/** The credits of a pack that belong to the open and to the lost part of its disputes. */
export const disputedCredits = (
  credits: bigint,
  { amountUsdCents, refundedUsdCents, lostUsdCents, openUsdCents }: ReversedCents,
): { readonly open: number; readonly lost: number } => {
  const creditsOf = (cents: bigint) => reversedCredits(credits, cents, amountUsdCents)
  const refunded = creditsOf(refundedUsdCents)
  const closed = creditsOf(refundedUsdCents + lostUsdCents)
  const all = creditsOf(refundedUsdCents + lostUsdCents + openUsdCents)
  return { open: Number(all - closed), lost: Number(closed - refunded) }
}

/** The lines of a reversal: what the balance holds is taken back; the rest, which is spent, becomes debt. */
export const reversalLines = (credits: bigint, balance: bigint): Line[] => {
  const available = balance < credits ? balance : credits
  const lines: Line[] = [
    { account: accounts.balance, unit: 'credit', amount: -available },
    { account: accounts.debt, unit: 'credit', amount: available - credits },
    { account: accounts.purchases, unit: 'credit', amount: credits },
  ]
  return lines.filter((line) => line.amount !== 0n)
}

export const bucketMs = { hour: 3_600_000, day: 86_400_000 } as const
/** The number of buckets of a period without a start. */
const defaultBuckets = { hour: 48, day: 30 } as const

type RequestedWindow = {
  readonly bucket: Usage['bucket']
  readonly since?: Date | undefined
  readonly until?: Date | undefined
}
/** The whole buckets, in UTC, that contain the requested period. The present bucket is the last one. */
export const usageWindow = ({ bucket, since, until }: RequestedWindow, now: Date) => {
  const size = bucketMs[bucket]
  const end = Math.min(until?.getTime() ?? Infinity, now.getTime() + 1)
  const untilMs = Math.ceil(end / size) * size
  const sinceMs = since ? Math.floor(since.getTime() / size) * size : untilMs - defaultBuckets[bucket] * size
  return { since: new Date(sinceMs), until: new Date(untilMs) }
}

export type UsageFigures = Usage['totals']
export const sumOf = (rows: readonly UsageFigures[], figure: keyof UsageFigures): number =>
  rows.reduce((sum, row) => sum + row[figure], 0)

/** Whole days until nothing is left; null where nothing is spent. */
export const daysLeftOf = (available: number, spentPerDay: number): number | null =>
  spentPerDay > 0 ? Math.floor(available / spentPerDay) : null
