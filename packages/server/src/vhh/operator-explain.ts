import { weightsOf, type IndexRow } from '@pohf/verify/vhh'
import type { Ctx } from '../platform/ops/context.ts'
import { readEpochWithInputs } from './inputs.ts'
import { compositeCode } from './rules.ts'

const clustersMax = 50
const quantiles = [10, 25, 50, 75, 90] as const

const round = (value: number): number => Math.round(value * 100) / 100
const usdPerHour = (usdMicro: number, seconds: number): number =>
  round((usdMicro * 3_600) / seconds / 1_000_000)
const pctOf = (part: bigint, whole: bigint): number =>
  Number((part * 10_000n) / (whole === 0n ? 1n : whole)) / 100

type ClusterSum = { seconds: number; usdMicro: number; weight: bigint }

const clustersOf = (rows: readonly IndexRow[]) => {
  const weights = weightsOf(rows)
  const sums = new Map<string, ClusterSum>()
  for (const [index, row] of rows.entries()) {
    const sum = sums.get(row.cluster) ?? { seconds: 0, usdMicro: 0, weight: 0n }
    sum.seconds += row.seconds
    sum.usdMicro += row.usdMicro
    sum.weight += weights[index] ?? 0n
    sums.set(row.cluster, sum)
  }
  const seconds = rows.reduce((sum, row) => sum + row.seconds, 0)
  const weight = weights.reduce((sum, one) => sum + one, 0n)
  return [...sums]
    .toSorted(([, one], [, other]) => other.seconds - one.seconds)
    .slice(0, clustersMax)
    .map(([cluster, sum]) => ({
      cluster,
      hours: round(sum.seconds / 3_600),
      sharePct: pctOf(BigInt(sum.seconds), BigInt(seconds)),
      weightPct: pctOf(sum.weight, weight),
      usdPerHour: usdPerHour(sum.usdMicro, sum.seconds),
    }))
}

const quantilesOf = (rows: readonly IndexRow[]) => {
  const weights = weightsOf(rows)
  const total = weights.reduce((sum, one) => sum + one, 0n)
  const sorted = rows
    .map((row, index) => ({ row, weight: weights[index] ?? 0n }))
    .toSorted((a, b) => a.row.usdMicro * b.row.seconds - b.row.usdMicro * a.row.seconds)
  return quantiles.flatMap((pct) => {
    let reached = 0n
    const at = sorted.find(({ weight }) => (reached += weight) * 100n >= total * BigInt(pct))
    return at ? [{ pct, usdPerHour: usdPerHour(at.row.usdMicro, at.row.seconds) }] : []
  })
}

/** What an epoch was computed from, for operators: also where it has no value. */
export const operatorExplain = async (ctx: Ctx, month: string, code = compositeCode) => {
  const { epoch, document } = await readEpochWithInputs(ctx, code, month)
  const rows = document?.rows ?? []
  return { epoch, clusters: clustersOf(rows), quantiles: quantilesOf(rows) }
}
