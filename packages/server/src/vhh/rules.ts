import type { Epoch } from '@pohf/protocol'
import type { EpochDetails } from '../platform/db/columns.ts'

export const compositeCode = 'VHH'
const unit = 'verified human hour'
export const noInputs = { hours: 0, clusters: 0, workers: 0 } as const

const hourMs = 3_600_000
/** Work of a month still counts for this long after its end. */
const finalAfterMs = 24 * hourMs
/** The limit of months published in one run; after a longer downtime the next run continues. */
const monthsMax = 120

/** Months since year 0, for arithmetic. */
const monthIndexOf = (month: string): number => Number(month.slice(0, 4)) * 12 + Number(month.slice(5)) - 1
const monthTextOf = (index: number): string =>
  `${String(Math.floor(index / 12)).padStart(4, '0')}-${String((index % 12) + 1).padStart(2, '0')}`

const firstInstantOf = (index: number): Date => new Date(Date.UTC(Math.floor(index / 12), index % 12))

/** The first instant of a month and of the next one. */
export const monthSpan = (month: string): { readonly from: Date; readonly to: Date } => {
  const index = monthIndexOf(month)
  return { from: firstInstantOf(index), to: firstInstantOf(index + 1) }
}

/** A value is carried forward for this many months; an older one says nothing about today. */
const carriedMonthsMax = 12
/** The earliest month whose value may be carried into this one. */
export const earliestCarriedMonth = (month: string): string =>
  monthTextOf(monthIndexOf(month) - carriedMonthsMax)

/** The code of the series of a category. */
export const codeOf = (category: string): string => `${compositeCode}_${category}`

/** The calendar month of an instant, in UTC. */
export const monthOf = (at: Date): string => at.toISOString().slice(0, 7)

/** The number of months from now to this month; negative for a past one. */
export const leadMonths = (now: Date, month: string): number =>
  monthIndexOf(month) - monthIndexOf(monthOf(now))

const finalAtMs = (index: number): number =>
  Date.UTC(Math.floor((index + 1) / 12), (index + 1) % 12) + finalAfterMs

/** The months to publish now: at the first start last month, then each month once it is final, without gaps. */
export const dueMonths = (latest: string | undefined, now: Date): string[] => {
  if (latest === undefined) return [monthTextOf(monthIndexOf(monthOf(now)) - 1)]
  const due: string[] = []
  for (let index = monthIndexOf(latest) + 1; due.length < monthsMax; index++) {
    if (finalAtMs(index) > now.getTime()) break
    due.push(monthTextOf(index))
  }
  return due
}

/** The display name of a series. */
export const seriesNameOf = (code: string): string =>
  code === compositeCode
    ? 'Verified Human Hour, composite'
    : `Verified Human Hour, ${code.slice(compositeCode.length + 1)}`

export type Assessment = 'within' | 'stretch' | 'beyond'

/** The hours of the capacity of a month that are not promised yet; 0 for a past month. */
export const hoursAvailable = (capacityHours: number, promisedHours: number, lead: number): number =>
  lead < 0 ? 0 : Math.max(0, Math.round((capacityHours - promisedHours) * 100) / 100)

/** The months whose settled hours are the measure of capacity. */
export const capacityMonths = 3
/** Settled hours of an average month, to the hundredth: months before the first count as nothing. */
export const measuredCapacity = (hours: readonly number[]): number =>
  Math.floor((hours.reduce((sum, one) => sum + one, 0) / capacityMonths) * 100) / 100

export const assess = (hours: number, available: number): Assessment =>
  hours <= available ? 'within' : hours <= 2 * available ? 'stretch' : 'beyond'

/** The premium for short notice, in per cent. */
const leadPct = (lead: number): number =>
  lead >= 6 ? 0 : lead >= 3 ? 5 : lead === 2 ? 10 : lead === 1 ? 15 : 25

/** The premium for the share of capacity, in per cent: 0 up to half of it. */
const sharePct = (hours: number, available: number): number =>
  ({ within: hours <= available / 2 ? 0 : 5, stretch: 15, beyond: 25 })[assess(hours, available)]

/** The premium on the index price, in per cent: 0 to 50. */
export const premiumPct = (order: { hours: number; available: number; lead: number }): number =>
  leadPct(order.lead) + sharePct(order.hours, order.available)

/** Index price times hours, with the premium, to the cent; null where the index has no value. */
export const totalUsdCents = (vhhUsdCents: bigint | null, hours: number, premium: number): bigint | null =>
  vhhUsdCents === null ? null : BigInt(Math.round((Number(vhhUsdCents) * hours * (100 + premium)) / 100))

export const usdOf = (cents: bigint | null): number | null => (cents === null ? null : Number(cents) / 100)

/** An epoch without its signature. */
export type StoredEpoch = Pick<Epoch, 'code' | 'epoch' | 'method'> & {
  readonly valueUsdCents: bigint | null
  readonly status: 'final' | 'insufficient_data'
  readonly inputs: { readonly hours: number; readonly clusters: number; readonly workers: number }
  readonly publishedAt: Date
  readonly details: EpochDetails | null
}
/** An epoch as it is signed and shown. Epochs of `vhh-0` have no details. */
export const presentEpoch = ({ details, ...epoch }: StoredEpoch): Omit<Epoch, 'jws'> => {
  const { units, tooFew, ...more } = details ?? {}
  return {
    code: epoch.code,
    epoch: epoch.epoch,
    value: usdOf(epoch.valueUsdCents),
    currency: 'USD',
    unit,
    status: epoch.status,
    method: epoch.method,
    inputs: { ...epoch.inputs, ...(units === undefined ? {} : { units }) },
    publishedAt: epoch.publishedAt.toISOString(),
    ...(tooFew === undefined ? {} : { tooFew: [...tooFew] }),
    ...more,
  }
}
