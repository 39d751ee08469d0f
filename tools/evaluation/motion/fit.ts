// Fits the two parts of the motion model. No randomness: the same rows give the same numbers.
import { type Scale, distanceScore, logisticScore, normalise } from '../../../packages/scorer/src/model.ts'

export type Rows = readonly (readonly number[])[]
export type Parts = {
  readonly quantiles: number[][]
  readonly center: number[]
  readonly covarianceFactor: number[][]
  readonly weights: number[]
  readonly bias: number
}

const polynomial = (terms: readonly number[], at: number) => terms.reduce((sum, term) => sum * at + term, 0)

/** Acklam's rational form of the normal quantile; its error of 1e-9 is far below the spacing of the knots. */
function normalDeviate(probability: number): number {
  const a = [
    -39.69683028665376, 220.9460984245205, -275.9285104469687, 138.357751867269, -30.66479806614716,
    2.506628277459239,
  ]
  const b = [
    -54.47609879822406, 161.5858368580409, -155.6989798598866, 66.80131188771972, -13.28068155288572, 1,
  ]
  const c = [
    -0.007784894002430293, -0.3223964580411365, -2.400758277161838, -2.549732539343734, 4.374664141464968,
    2.938163982698783,
  ]
  const d = [0.007784695709041462, 0.3224671290700398, 2.445134137142996, 3.754408661907416, 1]
  if (probability > 0.5) return -normalDeviate(1 - probability)
  if (probability < 0.02425) {
    const tail = Math.sqrt(-2 * Math.log(probability))
    return polynomial(c, tail) / polynomial(d, tail)
  }
  const middle = probability - 0.5
  const square = middle * middle
  return (polynomial(a, square) * middle) / polynomial(b, square)
}

const KNOTS = 25
/** Even in rank, with the outer ones at 0.2 % and 99.8 %. */
const LEVEL_SHARES = Array.from({ length: KNOTS }, (_, knot) => 0.002 + (0.996 * knot) / (KNOTS - 1))

export function quantile(sorted: readonly number[], share: number): number {
  const place = share * (sorted.length - 1)
  const low = Math.floor(place)
  const left = sorted[low] ?? 0
  return left + ((sorted[low + 1] ?? left) - left) * (place - low)
}

/** Lower triangle L with L·Lᵗ = the given symmetric positive matrix. */
export function cholesky(matrix: readonly Float64Array[]): Float64Array[] {
  const factor = matrix.map((line) => new Float64Array(line.length))
  for (let row = 0; row < matrix.length; row += 1) {
    const here = factor[row] ?? new Float64Array()
    for (let column = 0; column <= row; column += 1) {
      const there = factor[column] ?? here
      let rest = matrix[row]?.[column] ?? 0
      for (let index = 0; index < column; index += 1) rest -= (here[index] ?? 0) * (there[index] ?? 0)
      here[column] = row === column ? Math.sqrt(rest) : rest / (there[column] ?? 1)
    }
  }
  return factor
}

function solve(factor: readonly Float64Array[], right: Float64Array): Float64Array {
  const size = right.length
  const result = Float64Array.from(right)
  for (let row = 0; row < size; row += 1) {
    const line = factor[row] ?? result
    let rest = result[row] ?? 0
    for (let column = 0; column < row; column += 1) rest -= (line[column] ?? 0) * (result[column] ?? 0)
    result[row] = rest / (line[row] ?? 1)
  }
  for (let row = size - 1; row >= 0; row -= 1) {
    let rest = result[row] ?? 0
    for (let below = row + 1; below < size; below += 1)
      rest -= (factor[below]?.[row] ?? 0) * (result[below] ?? 0)
    result[row] = rest / (factor[row]?.[row] ?? 1)
  }
  return result
}

export type Options = {
  readonly ridge: number
  readonly penalty: number
}

/** Weighted ridge logistic regression by Newton's steps; rows are people (1) or bots (0) with weights. */
export function fitLogistic(
  rows: readonly Float64Array[],
  labels: readonly number[],
  rowWeights: readonly number[],
  penalty: number,
): { weights: Float64Array; bias: number } {
  const size = (rows[0]?.length ?? 0) + 1
  let solution = new Float64Array(size)
  let before = Infinity
  for (let step = 0; step < 30; step += 1) {
    const gradient = new Float64Array(size)
    const hessian = Array.from({ length: size }, () => new Float64Array(size))
    let loss = 0
    for (let row = 0; row < rows.length; row += 1) {
      const values = rows[row] ?? new Float64Array()
      let score = solution[size - 1] ?? 0
      for (let index = 0; index < size - 1; index += 1) score += (values[index] ?? 0) * (solution[index] ?? 0)
      const probability = 1 / (1 + Math.exp(-score))
      const weight = rowWeights[row] ?? 0
      const label = labels[row] ?? 0
      loss -= weight * Math.log(1e-300 + (label === 1 ? probability : 1 - probability))
      const error = weight * (probability - label)
      const bend = Math.max(weight * probability * (1 - probability), weight * 1e-9)
      for (let index = 0; index < size; index += 1) {
        const value = index === size - 1 ? 1 : (values[index] ?? 0)
        if (value === 0) continue
        gradient[index] = (gradient[index] ?? 0) + error * value
        const line = hessian[index] ?? gradient
        const scaled = bend * value
        if (Math.abs(scaled) < 1e-14) continue
        for (let other = 0; other <= index; other += 1) {
          line[other] = (line[other] ?? 0) + scaled * (other === size - 1 ? 1 : (values[other] ?? 0))
        }
      }
    }
    for (let index = 0; index < size - 1; index += 1) {
      gradient[index] = (gradient[index] ?? 0) + penalty * (solution[index] ?? 0)
      loss += 0.5 * penalty * (solution[index] ?? 0) * (solution[index] ?? 0)
      const line = hessian[index] ?? gradient
      line[index] = (line[index] ?? 0) + penalty
    }
    const last = hessian[size - 1] ?? gradient
    last[size - 1] = (last[size - 1] ?? 0) + 1e-6
    const change = solve(cholesky(hessian), gradient)
    solution = solution.map((value, index) => value - (change[index] ?? 0))
    if (Math.abs(before - loss) < 1e-6 * Math.abs(loss)) break
    before = loss
  }
  return { weights: solution.slice(0, size - 1), bias: solution[size - 1] ?? 0 }
}

export const LEVELS = LEVEL_SHARES.map(normalDeviate)

/** Fits both parts. `botWeights` gives each family the same say. */
export function fitParts(people: Rows, bots: Rows, botWeights: readonly number[], options: Options): Parts {
  const size = people[0]?.length ?? 0
  const quantiles = Array.from({ length: size }, (_, feature) => {
    const sorted = people.map((row) => row[feature] ?? 0).toSorted((left, right) => left - right)
    return LEVEL_SHARES.map((share) => quantile(sorted, share))
  })
  const toDeviates = (rows: Rows) =>
    rows.map((row) => row.map((value, feature) => normalise(value, quantiles[feature] ?? [], LEVELS)))
  const deviates = toDeviates(people)
  const center = Array.from({ length: size }, (_, feature) => {
    let sum = 0
    for (const row of deviates) sum += row[feature] ?? 0
    return sum / deviates.length
  })
  const covariance = Array.from({ length: size }, () => new Float64Array(size))
  for (const row of deviates) {
    for (let left = 0; left < size; left += 1) {
      const line = covariance[left] ?? new Float64Array()
      const rest = (row[left] ?? 0) - (center[left] ?? 0)
      for (let right = 0; right <= left; right += 1) {
        line[right] =
          (line[right] ?? 0) + (rest * ((row[right] ?? 0) - (center[right] ?? 0))) / (deviates.length - 1)
      }
    }
  }
  for (let index = 0; index < size; index += 1) {
    const line = covariance[index] ?? new Float64Array()
    line[index] = (line[index] ?? 0) + options.ridge
  }
  const factor = cholesky(covariance)
  const expanded = [...deviates, ...toDeviates(bots)].map((row) => Float64Array.from(row))
  const labels = expanded.map((_, index) => (index < people.length ? 1 : 0))
  const humanWeight = 1 / people.length
  let botTotal = 0
  for (const weight of botWeights) botTotal += weight
  const rowWeights = [
    ...people.map(() => humanWeight * 1_000),
    ...bots.map((_, index) => ((botWeights[index] ?? 0) / botTotal) * 1_000),
  ]
  const { weights, bias } = fitLogistic(expanded, labels, rowWeights, options.penalty)
  return {
    quantiles,
    center,
    covarianceFactor: factor.map((line, row) => Array.from(line.slice(0, row + 1))),
    weights: [...weights],
    bias,
  }
}

export function partScores(row: readonly number[], parts: Parts): { known: number; distance: number } {
  const deviates = row.map((value, feature) => normalise(value, parts.quantiles[feature] ?? [], LEVELS))
  return {
    known: logisticScore(deviates, parts.weights, parts.bias),
    distance: distanceScore(deviates, parts.center, parts.covarianceFactor),
  }
}

export function scaleOf(scores: readonly number[]): Scale {
  const sorted = scores.toSorted((left, right) => left - right)
  const median = quantile(sorted, 0.5)
  return { median, width: median - quantile(sorted, 0.05) }
}
