import { orderStates, type Mode, type WorkWarning } from '@pohf/protocol'
import type { Line } from '../ledger/index.ts'

/** How long an order waits to be funded. */
export const unfundedOrderDays = 7

/** The assumed duration of a unit of custom work until an operator has set its terms. */
const customMinutes = 10n

export type OrderState = (typeof orderStates)[number]

/** Whether the buyer has paid. */
export const isPaid = (status: OrderState): boolean =>
  ['funded', 'in_progress', 'delivered', 'completed'].includes(status)

/** A price in whole cents, rounded down; 0.29 is 29 although 0.29 * 100 is 28.999999999999996. */
export const usdCentsOf = (priceUsd: number): bigint =>
  BigInt(Math.floor(Math.round(priceUsd * 1_000_000) / 10_000))

export const usdOf = (usdCents: bigint): number => Number(usdCents) / 100

/** The displayed price of one unit, to a millionth: only the total is charged. */
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
  const fullUsdCents =
    unitUsdCents === undefined
      ? (hourUsdCents * customMinutes * quantity + 59n) / 60n
      : unitUsdCents * quantity
  const isAbove = capUsdCents !== undefined && fullUsdCents > capUsdCents
  if (!isAbove) return { totalUsdCents: fullUsdCents, offer: unitUsdCents === undefined }
  if (unitUsdCents !== undefined && request.mode === 'live') return undefined
  return { totalUsdCents: capUsdCents, offer: true }
}

/** Ledger accounts of payments for orders, in US cents: outside, to be refunded, owed to us. */
export const cardAccounts = {
  world: 'world:card',
  unused: 'unused:card',
  debt: 'owed:card',
} as const
export const chainAccounts = {
  world: 'world:chain',
  unused: 'unused:chain',
  debt: 'owed:chain',
} as const
export type PaymentAccounts = typeof cardAccounts | typeof chainAccounts
/** Where the money of an order came from: a purchase over HTTP 402, or a card. */
export const paymentAccountsOf = (order: { readonly purchaseId: string | null }): PaymentAccounts =>
  order.purchaseId === null ? cardAccounts : chainAccounts
export const escrowAccountOf = (orderId: string): string => `escrow:${orderId}`

export const transferLines = (from: string, to: string, amount: bigint): Line[] => [
  { account: from, unit: 'usd_cent', amount: -amount },
  { account: to, unit: 'usd_cent', amount },
]

const min = (a: bigint, b: bigint): bigint => (a < b ? a : b)

/**
 * The ledger lines of a reversed payment: our own refunds from the unused account, then escrow, then the rest of the
 * unused account; the remainder is owed by the buyer.
 */
export const reversalLines = (
  accounts: PaymentAccounts & { readonly escrow: string },
  { amount, own }: { readonly amount: bigint; readonly own: bigint },
  balances: { readonly escrow: bigint; readonly unused: bigint },
): Line[] => {
  const fromReserved = min(balances.unused, own)
  const fromEscrow = min(balances.escrow, amount - fromReserved)
  const fromUnused = fromReserved + min(balances.unused - fromReserved, amount - fromReserved - fromEscrow)
  const lines: Line[] = [
    { account: accounts.escrow, unit: 'usd_cent', amount: -fromEscrow },
    { account: accounts.unused, unit: 'usd_cent', amount: -fromUnused },
    { account: accounts.debt, unit: 'usd_cent', amount: fromEscrow + fromUnused - amount },
    { account: accounts.world, unit: 'usd_cent', amount },
  ]
  return lines.filter((line) => line.amount !== 0n)
}

/** What one forged work credential costs in USD on which a network alone stands; undefined where no price is known. */
export type ForgingPriceUsd = () => number | undefined

/** What every worker has shown at least: a network, which reaches `low`. */
const workerFloor = { root: 'network', assurance: 'low' } as const

/** Warns a buyer of a reward that is above the price of forging what a worker has shown at least. */
export const rewardWarningsOf = (
  forgingPriceUsd: ForgingPriceUsd,
  rewardStars: number | undefined,
): WorkWarning[] => {
  const price = forgingPriceUsd()
  if (price === undefined || rewardStars === undefined) return []
  const rewardUsd = usdOf(BigInt(rewardStars))
  if (rewardUsd <= price) return []
  return [
    {
      code: 'reward_above_forging_price',
      message: `A unit pays ${rewardUsd} USD, and a forged work credential with the assurance ${workerFloor.assurance} costs about ${price} USD. Check the answers; do not rely on the credential alone.`,
      rewardUsd,
      forgingPriceUsd: price,
      ...workerFloor,
    },
  ]
}
