import { orderStates, type Mode } from '@pohf/protocol'
import type { Line } from '../ledger/index.ts'

/** How long an order waits to be funded. */
export const unfundedOrderDays = 7

/** What a unit of custom work is taken to last until an operator has looked at it. */
const customMinutes = 10n

export type OrderState = (typeof orderStates)[number]

/** Whether the buyer's money is in. */
export const isPaid = (status: OrderState): boolean =>
  ['funded', 'in_progress', 'delivered', 'completed'].includes(status)

/** The whole cents of a price limit, rounded down; 0.29 is 29 although 0.29 * 100 is not. */
export const usdCentsOf = (maxPriceUsd: number): bigint =>
  BigInt(Math.floor(Math.round(maxPriceUsd * 1_000_000) / 10_000))

export const usdOf = (usdCents: bigint): number => Number(usdCents) / 100

/** The price of one unit for show, to a millionth: only the total is owed. */
export const unitUsdOf = (totalUsdCents: bigint, quantity: number): number =>
  Math.round((Number(totalUsdCents) / quantity) * 10_000) / 1_000_000

type PriceRequest = {
  readonly mode: Mode
  readonly quantity: number
  /** The listed price; undefined for custom work. */
  readonly unitUsdCents: bigint | undefined
  readonly capUsdCents: bigint | undefined
  readonly referenceUsdPerHour: number
}
/** `offer`: the price is the buyer's, and an operator must accept it before work starts. */
export type Price = { readonly totalUsdCents: bigint; readonly offer: boolean }

/** What a whole order costs; undefined where its cap does not allow it. */
export const priceOf = (request: PriceRequest): Price | undefined => {
  const { capUsdCents, unitUsdCents } = request
  const quantity = BigInt(request.quantity)
  if (capUsdCents !== undefined && capUsdCents < 1n) return undefined
  const hourUsdCents = BigInt(Math.round(request.referenceUsdPerHour * 100))
  const full =
    unitUsdCents === undefined
      ? (hourUsdCents * customMinutes * quantity + 59n) / 60n
      : unitUsdCents * quantity
  const isAbove = capUsdCents !== undefined && full > capUsdCents
  if (!isAbove) return { totalUsdCents: full, offer: unitUsdCents === undefined }
  if (unitUsdCents !== undefined && request.mode === 'live') return undefined
  return { totalUsdCents: capUsdCents, offer: true }
}

/** Where card money of orders is, in US cents: outside, to be given back, owed to us. */
export const cardAccounts = {
  world: 'world:card',
  unused: 'unused:card',
  debt: 'owed:card',
} as const
export const escrowAccountOf = (orderId: string): string => `escrow:${orderId}`

const least = (a: bigint, b: bigint): bigint => (a < b ? a : b)

/**
 * The lines of taking a payment back: our own refunds from what was put aside for them, then from escrow, then what
 * else is unused, and the rest is owed.
 */
export const reversalLines = (
  escrow: string,
  { amount, own }: { readonly amount: bigint; readonly own: bigint },
  held: { readonly escrow: bigint; readonly unused: bigint },
): Line[] => {
  const aside = least(held.unused, own)
  const fromEscrow = least(held.escrow, amount - aside)
  const fromUnused = aside + least(held.unused - aside, amount - aside - fromEscrow)
  const lines: Line[] = [
    { account: escrow, unit: 'usd_cent', amount: -fromEscrow },
    { account: cardAccounts.unused, unit: 'usd_cent', amount: -fromUnused },
    { account: cardAccounts.debt, unit: 'usd_cent', amount: fromEscrow + fromUnused - amount },
    { account: cardAccounts.world, unit: 'usd_cent', amount },
  ]
  return lines.filter((line) => line.amount !== 0n)
}
