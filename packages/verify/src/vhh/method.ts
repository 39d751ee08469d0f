/** Work of one worker for one funding cluster in a month, all of one series. */
export type IndexRow = {
  /** The pseudonym of the funding cluster, another one in each series and month. */
  readonly cluster: string
  readonly units: number
  readonly seconds: number
  /** What the buyer paid for these units, in millionths of a US dollar. */
  readonly usdMicro: number
}
export type IndexInputs = {
  readonly rows: readonly IndexRow[]
  /** The pseudonyms of the workers. No row names its worker: a buyer would recognise it in the rows of other buyers. */
  readonly workers: readonly string[]
}
type Shortage = 'hours' | 'clusters' | 'workers'
export type IndexResult = {
  readonly status: 'final' | 'insufficient_data'
  /** US cents for an hour; null where the inputs are too few. */
  readonly usdCents: number | null
  readonly inputs: {
    readonly hours: number
    readonly clusters: number
    readonly workers: number
    readonly units: number
  }
  /** The inputs that are below the minimum of `sufficiency`. */
  readonly tooFew: readonly Shortage[]
}

/** The least that a value is computed from. */
export const sufficiency = { hours: 100, clusters: 10, workers: 30 } as const
/** A cluster counts with at most a twentieth of all hours: 5 %. */
const clusterShareDivisor = 20n
/** Weights are whole millionths of a second. */
const weightScale = 1_000_000n

const sumOf = <T>(values: readonly T[], of: (value: T) => number): number =>
  values.reduce((sum, value) => sum + of(value), 0)

const secondsByCluster = (rows: readonly IndexRow[]): ReadonlyMap<string, number> => {
  const seconds = new Map<string, number>()
  for (const row of rows) seconds.set(row.cluster, (seconds.get(row.cluster) ?? 0) + row.seconds)
  return seconds
}

/** The weight of each row: its seconds, lowered in proportion where its cluster has more than 5 % of all. */
export const weightsOf = (rows: readonly IndexRow[]): readonly bigint[] => {
  const total = BigInt(sumOf(rows, ({ seconds }) => seconds))
  const clusters = secondsByCluster(rows)
  return rows.map(({ cluster, seconds }) => {
    const ofCluster = BigInt(clusters.get(cluster) ?? 0)
    const weight = BigInt(seconds) * weightScale
    return ofCluster * clusterShareDivisor > total
      ? (weight * total) / (clusterShareDivisor * ofCluster)
      : weight
  })
}

/** Compares prices for an hour without a division. */
const compareRates = (one: IndexRow, other: IndexRow): number => {
  const difference =
    BigInt(one.usdMicro) * BigInt(other.seconds) - BigInt(other.usdMicro) * BigInt(one.seconds)
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

/** US cents for an hour, rounded to the nearest, a half up. */
const centsPerHour = ({ usdMicro, seconds }: IndexRow): number => {
  const [numerator, denominator] = [BigInt(usdMicro) * 3_600n, BigInt(seconds) * 10_000n]
  return Number((2n * numerator + denominator) / (2n * denominator))
}

/** The row at which, from the lowest price up, half of all weight is reached. */
const weightedMedian = (rows: readonly IndexRow[]): IndexRow | undefined => {
  const weights = weightsOf(rows)
  const sorted = rows
    .map((row, index) => ({ row, weight: weights[index] ?? 0n }))
    .toSorted((one, other) => compareRates(one.row, other.row))
  const total = weights.reduce((sum, weight) => sum + weight, 0n)
  let reached = 0n
  return sorted.find(({ weight }) => {
    reached += weight
    return reached * 2n >= total
  })?.row
}

/**
 * The method `vhh-1`: the median price of an hour, weighted by hours, in which a funding cluster counts with at most 5 % of
 * all hours. All arithmetic is with integers, so that every recomputation gives the same cents.
 */
const computeVhh1 = ({ rows, workers }: IndexInputs): IndexResult => {
  const seconds = sumOf(rows, (row) => row.seconds)
  const inputs = {
    // Hundredths of an hour, rounded down.
    hours: Math.floor(seconds / 36) / 100,
    clusters: new Set(rows.map(({ cluster }) => cluster)).size,
    workers: workers.length,
    units: sumOf(rows, ({ units }) => units),
  }
  const tooFew = (['hours', 'clusters', 'workers'] as const).filter(
    (name) => inputs[name] < sufficiency[name],
  )
  const median = tooFew.length === 0 ? weightedMedian(rows) : undefined
  return {
    status: median ? 'final' : 'insufficient_data',
    usdCents: median ? centsPerHour(median) : null,
    inputs,
    tooFew,
  }
}

/** Every method that computed a published value. A method never changes: a change gets the next name. */
export const methods: Readonly<Record<string, (inputs: IndexInputs) => IndexResult>> = {
  'vhh-1': computeVhh1,
}
export const currentMethod = 'vhh-1'
