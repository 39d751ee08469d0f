// Applies a fitted model to the features of a window. Two transparent parts score it: a logistic regression that was fitted
// with bots, and a distance from people that was fitted without them. A bot must do well in both: a high score in one part
// makes up for little of a low score in the other.
import { ln, logistic } from './arithmetic.ts'
import type { WindowSeconds } from './features.ts'

/** Where a part's score lies among people: 0 is their median, -1 their 5 % quantile. */
export type Scale = { readonly median: number; readonly width: number }

/** The fitted numbers for one window length. */
export type WindowModel = {
  readonly seconds: WindowSeconds
  /** For each feature its values at `levels`, rising. */
  readonly quantiles: readonly (readonly number[])[]
  readonly center: readonly number[]
  /** Rows of the lower triangle L of the ridged covariance L·Lᵗ of people's normalised features. */
  readonly covarianceFactor: readonly (readonly number[])[]
  /** One for each normalised feature. */
  readonly weights: readonly number[]
  readonly bias: number
  readonly logisticScale: Scale
  readonly distanceScale: Scale
  /** Human probability = logistic(slope * score + offset). */
  readonly calibration: { readonly slope: number; readonly offset: number }
  /** 1 % of people score lower. */
  readonly onePercentScore: number
}

/** A whole model as its file holds it, apart from the card of its error rates. */
export type MotionModel = {
  readonly version: string
  readonly features: readonly string[]
  /** The normal deviates that belong to the stored quantiles. */
  readonly levels: readonly number[]
  readonly windows: readonly WindowModel[]
}

/** A value outside of the range of people counts as at most this many standard deviations. */
const DEVIATE_MAX = 5

/** A value as the normal deviate of its rank among people; beyond their range it goes on in a straight line. */
export function normalise(value: number, quantiles: readonly number[], levels: readonly number[]): number {
  const last = quantiles.length - 1
  let high = 1
  while (high < last && (quantiles[high] ?? 0) < value) high += 1
  let low = high - 1
  // Many people share one value (a zero): its rank is the middle of the run.
  if (value === quantiles[high] || value === quantiles[low]) {
    let from = value === quantiles[low] ? low : high
    let until = from
    while (from > 0 && quantiles[from - 1] === value) from -= 1
    while (until < last && quantiles[until + 1] === value) until += 1
    return ((levels[from] ?? 0) + (levels[until] ?? 0)) / 2
  }
  // At the ends the slope is taken over several knots, and never over none.
  if (value < (quantiles[0] ?? 0)) {
    low = 0
    high = Math.min(last, 4)
  } else if (value > (quantiles[last] ?? 0)) {
    low = Math.max(0, last - 4)
    high = last
  }
  const left = quantiles[low] ?? 0
  const width = (quantiles[high] ?? 0) - left
  const rise = (levels[high] ?? 0) - (levels[low] ?? 0)
  if (width <= 0) return value < left ? -DEVIATE_MAX : DEVIATE_MAX
  const deviate = (levels[low] ?? 0) + ((value - left) / width) * rise
  return Math.max(-DEVIATE_MAX, Math.min(DEVIATE_MAX, deviate))
}

/** The bias plus the weighted normalised features. */
export function logisticScore(deviates: readonly number[], weights: readonly number[], bias: number): number {
  let sum = bias
  for (let index = 0; index < deviates.length; index += 1)
    sum += (weights[index] ?? 0) * (deviates[index] ?? 0)
  return sum
}

/** Minus the logarithm of 1 + the squared Mahalanobis distance from people. */
export function distanceScore(
  deviates: readonly number[],
  center: readonly number[],
  factor: readonly (readonly number[])[],
): number {
  const solved: number[] = []
  let squared = 0
  for (let row = 0; row < deviates.length; row += 1) {
    const line = factor[row] ?? []
    let rest = (deviates[row] ?? 0) - (center[row] ?? 0)
    for (let column = 0; column < row; column += 1) rest -= (line[column] ?? 0) * (solved[column] ?? 0)
    const value = rest / (line[row] ?? 1)
    solved.push(value)
    squared += value * value
  }
  return -ln(1 + squared)
}

/** The limit of each part: a higher value in one part does not make up for the other part. */
const CREDIT_MAX = 1

/** The two parts as one score: each on the scale of people, neither counted above the limit, then added. */
export function combine(
  known: number,
  distance: number,
  { logisticScale, distanceScale }: Pick<WindowModel, 'logisticScale' | 'distanceScale'>,
): number {
  return (
    Math.min(CREDIT_MAX, (known - logisticScale.median) / logisticScale.width) +
    Math.min(CREDIT_MAX, (distance - distanceScale.median) / distanceScale.width)
  )
}

/** The score of a window: about 0 for an ordinary person, lower is less like one. */
export function windowScore(
  features: readonly number[],
  window: WindowModel,
  levels: readonly number[],
): number {
  const deviates = features.map((value, index) => normalise(value, window.quantiles[index] ?? [], levels))
  const known = logisticScore(deviates, window.weights, window.bias)
  const distance = distanceScore(deviates, window.center, window.covarianceFactor)
  return combine(known, distance, window)
}

/** The calibrated probability that a person made motion of this score, people and bots being equally likely. */
export function humanProbability(score: number, window: WindowModel): number {
  return logistic(window.calibration.slope * score + window.calibration.offset)
}
