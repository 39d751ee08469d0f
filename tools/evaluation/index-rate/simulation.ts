// How far an attacker moves the index, by vhh-1 and by three simpler rates, in a market that is made from a seed.
import { methods, type IndexRow } from '@pohf/verify/vhh'
import { makeRandom, type Random } from '../../demo/random.ts'

const buyers = 40
const workersPerBuyer = 6
/** Honest hours of the market in a month. */
const honestHours = 4_000
const usualUsdPerHour = 18
/** The attacker pays this many times the narrow price. */
export const attackPrice = 3
/** The share that a trimmed mean cuts at each end. */
const trimmedShare = 0.15
export const marketCount = 200

export type Attack = {
  readonly name: string
  /** The share of all hours that is fake. */
  readonly fakeShare: number
  readonly clusters: number
}
export const attacks: readonly Attack[] = [
  { name: '10 %, one cluster', fakeShare: 0.1, clusters: 1 },
  { name: '20 %, 20 clusters', fakeShare: 0.2, clusters: 20 },
  { name: '30 %, one cluster', fakeShare: 0.3, clusters: 1 },
]

const normal = (random: Random): number =>
  Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next())

const rowOf = (cluster: string, hours: number, usdPerHour: number): IndexRow => {
  const seconds = Math.max(1, Math.round(hours * 3_600))
  return { cluster, units: 1, seconds, usdMicro: Math.round((usdPerHour * 1_000_000 * seconds) / 3_600) }
}
const nameOf = (kind: string, n: number): string => `${kind}${String(n).padStart(16 - kind.length, '0')}`

/** The rows of honest buyers. `spread` is the standard deviation of the logarithm of the price of an hour. */
const makeMarket = (random: Random, spread: number): IndexRow[] => {
  const sizes = Array.from({ length: buyers }, () => Math.exp(normal(random)))
  const total = sizes.reduce((sum, size) => sum + size, 0)
  // Half of the variance lies between buyers, half between the workers of one buyer.
  const half = spread / Math.SQRT2
  return sizes.flatMap((size, buyer) => {
    const level = usualUsdPerHour * Math.exp(half * normal(random))
    const hours = (honestHours * size) / total / workersPerBuyer
    return Array.from({ length: workersPerBuyer }, () =>
      rowOf(nameOf('buyer', buyer), hours, level * Math.exp(half * normal(random))),
    )
  })
}

const addAttack = (rows: readonly IndexRow[], { fakeShare, clusters }: Attack): IndexRow[] => {
  const hours = (honestHours * fakeShare) / (1 - fakeShare) / clusters
  const fakes = Array.from({ length: clusters }, (_, n) =>
    rowOf(nameOf('fake', n), hours, usualUsdPerHour * attackPrice),
  )
  return [...rows, ...fakes]
}

const rateOf = ({ usdMicro, seconds }: IndexRow): number => (usdMicro * 3_600) / seconds / 1_000_000
const sortedByRate = (rows: readonly IndexRow[]) => rows.toSorted((a, b) => rateOf(a) - rateOf(b))
const secondsOf = (rows: readonly IndexRow[]): number => rows.reduce((sum, row) => sum + row.seconds, 0)

const meanRate = (rows: readonly IndexRow[]): number =>
  rows.reduce((sum, row) => sum + rateOf(row) * row.seconds, 0) / secondsOf(rows)
/** The mean of what is left when the cheapest and the dearest 15 % of all hours are cut. */
const trimmedMean = (rows: readonly IndexRow[]): number => {
  const total = secondsOf(rows)
  const [low, high] = [total * trimmedShare, total * (1 - trimmedShare)]
  let at = 0
  let [sum, weight] = [0, 0]
  for (const row of sortedByRate(rows)) {
    const kept = Math.max(0, Math.min(high, at + row.seconds) - Math.max(low, at))
    at += row.seconds
    sum += kept * rateOf(row)
    weight += kept
  }
  return sum / weight
}
const medianRate = (rows: readonly IndexRow[]): number => {
  const total = secondsOf(rows)
  let reached = 0
  const middle = sortedByRate(rows).find((row) => (reached += row.seconds) * 2 >= total)
  return middle ? rateOf(middle) : Number.NaN
}
const vhh1 = (rows: readonly IndexRow[]): number => {
  const workers = Array.from({ length: buyers * workersPerBuyer }, (_, n) => nameOf('worker', n))
  return (methods['vhh-1']?.({ rows, workers }).usdCents ?? Number.NaN) / 100
}

/** From the simplest to the published one. */
export const rates = [
  ['mean', meanRate],
  ['mean without 15 % at each end', trimmedMean],
  ['median', medianRate],
  ['vhh-1', vhh1],
] as const
export type RateName = (typeof rates)[number][0]

/** The mean shift of a rate by an attack over all markets, in per cent. */
export type Shift = { readonly rate: RateName; readonly attack: Attack; readonly shiftPct: number }

/** The narrow spread of the price of an hour, and a market of twice that. */
export const spreads = { narrow: 0.15, wide: 0.3 } as const

export const simulate = (spread: number, seed = 20_261_117): Shift[] => {
  const random = makeRandom(seed)
  const markets = Array.from({ length: marketCount }, () => makeMarket(random, spread))
  return rates.flatMap(([rate, read]) =>
    attacks.map((attack) => {
      const shifts = markets.map((rows) => read(addAttack(rows, attack)) / read(rows) - 1)
      return { rate, attack, shiftPct: (shifts.reduce((sum, shift) => sum + shift, 0) / shifts.length) * 100 }
    }),
  )
}
