// Operations on a series of samples, in index order: the same bits in every engine.
import { correlation } from './arithmetic.ts'

export function differences(values: readonly number[]): number[] {
  const result: number[] = []
  for (let index = 1; index < values.length; index += 1) {
    result.push((values[index] ?? 0) - (values[index - 1] ?? 0))
  }
  return result
}

/** The weights 1/4, 1/2, 1/4, with nothing beyond the ends. */
export function smooth(values: readonly number[]): number[] {
  return values.map(
    (value, index) => 0.25 * (values[index - 1] ?? 0) + 0.5 * value + 0.25 * (values[index + 1] ?? 0),
  )
}

export function energy(values: readonly number[]): number {
  let sum = 0
  for (const value of values) sum += value * value
  return values.length === 0 ? 0 : sum / values.length
}

export function share(values: readonly number[], holds: (value: number) => boolean): number {
  if (values.length === 0) return 0
  let count = 0
  for (const value of values) if (holds(value)) count += 1
  return count / values.length
}

export function largest(values: readonly number[]): number {
  let result = 0
  for (const value of values) if (value > result) result = value
  return result
}

/** What is left of a coordinate after a moving mean of five samples: hand tremor and pixel noise. */
export function residual(values: readonly number[]): number[] {
  const result: number[] = []
  for (let index = 2; index < values.length - 2; index += 1) {
    let sum = 0
    for (let near = index - 2; near <= index + 2; near += 1) sum += values[near] ?? 0
    result.push((values[index] ?? 0) - sum / 5)
  }
  return result
}

export function lagged(values: readonly number[], lag: number): number {
  return correlation(values.slice(0, values.length - lag), values.slice(lag))
}
