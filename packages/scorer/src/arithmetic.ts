// Functions whose last bit engines may choose for themselves: Math.log, Math.exp, Math.atan2, Math.hypot, and `**`.
// A score must have the same bits wherever it is computed again, so these are built from + - * / and Math.sqrt,
// which IEEE 754 fixes. Sums run in index order.
const LN2_HIGH = 0.6931471803691238
const LN2_LOW = 1.9082149292705877e-10
const TAN_EIGHTH_PI = 0.4142135623730951
const TWO_TO_54 = 18014398509481984

const bits = new DataView(new ArrayBuffer(8))

/** The natural logarithm of a positive finite number. */
export function ln(value: number): number {
  let shift = 0
  // A subnormal number has no implicit leading bit.
  if (value < 2.2250738585072014e-308) {
    value *= TWO_TO_54
    shift = -54
  }
  bits.setFloat64(0, value)
  const high = bits.getUint32(0)
  let exponent = (high >>> 20) - 1022 + shift
  bits.setUint32(0, (high & 0x000fffff) | 0x3fe00000)
  let mantissa = bits.getFloat64(0)
  if (mantissa < Math.SQRT1_2) {
    mantissa *= 2
    exponent -= 1
  }
  const ratio = (mantissa - 1) / (mantissa + 1)
  const square = ratio * ratio
  let sum = 0
  for (let power = 25; power >= 1; power -= 2) sum = sum * square + 1 / power
  return exponent * LN2_HIGH + (exponent * LN2_LOW + 2 * ratio * sum)
}

/** e to the power of a number; below -700 it is 0, above 700 it stays at e^700. */
export function exponential(value: number): number {
  if (value < -700) return 0
  const bounded = value > 700 ? 700 : value
  const exponent = Math.round(bounded / (LN2_HIGH + LN2_LOW))
  const rest = bounded - exponent * LN2_HIGH - exponent * LN2_LOW
  let sum = 1
  for (let term = 16; term >= 1; term -= 1) sum = 1 + (sum * rest) / term
  bits.setUint32(0, (exponent + 1023) << 20)
  bits.setUint32(4, 0)
  return sum * bits.getFloat64(0)
}

/** The angle of (x, y) in -π..π; 0 where both are 0. */
export function angle(y: number, x: number): number {
  const height = Math.abs(y)
  const width = Math.abs(x)
  if (height === 0 && width === 0) return 0
  const steep = height > width
  let ratio = steep ? width / height : height / width
  let base = 0
  if (ratio > TAN_EIGHTH_PI) {
    ratio = (ratio - 1) / (ratio + 1)
    base = Math.PI / 4
  }
  const square = ratio * ratio
  let sum = 0
  for (let power = 45; power >= 1; power -= 2) sum = 1 / power - sum * square
  let result = base + ratio * sum
  if (steep) result = Math.PI / 2 - result
  if (x < 0) result = Math.PI - result
  return y < 0 ? -result : result
}

/** The length of (x, y). */
export function length(x: number, y: number): number {
  return Math.sqrt(x * x + y * y)
}

/** Between 0 and 1: 1 / (1 + e^-value). */
export function logistic(value: number): number {
  return value >= 0 ? 1 / (1 + exponential(-value)) : exponential(value) / (1 + exponential(value))
}

export function mean(values: readonly number[]): number {
  if (values.length === 0) return 0
  let sum = 0
  for (const value of values) sum += value
  return sum / values.length
}

/** The spread around the mean (population form); 0 for fewer than two values. */
export function deviation(values: readonly number[]): number {
  if (values.length < 2) return 0
  const middle = mean(values)
  let sum = 0
  for (const value of values) sum += (value - middle) * (value - middle)
  return Math.sqrt(sum / values.length)
}

/** Pearson's correlation; 0 where either side does not vary or there are fewer than five pairs. */
export function correlation(left: readonly number[], right: readonly number[]): number {
  const count = Math.min(left.length, right.length)
  if (count < 5) return 0
  const leftMean = mean(left.slice(0, count))
  const rightMean = mean(right.slice(0, count))
  let product = 0
  let leftSquares = 0
  let rightSquares = 0
  for (let index = 0; index < count; index += 1) {
    const leftRest = (left[index] ?? 0) - leftMean
    const rightRest = (right[index] ?? 0) - rightMean
    product += leftRest * rightRest
    leftSquares += leftRest * leftRest
    rightSquares += rightRest * rightRest
  }
  if (leftSquares < 1e-9 || rightSquares < 1e-9) return 0
  return product / Math.sqrt(leftSquares * rightSquares)
}
