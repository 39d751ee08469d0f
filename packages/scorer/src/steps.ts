import { length } from './arithmetic.ts'
import type { Stroke } from './strokes.ts'

/** The way of a stroke from sample to sample, in pixels. */
export type Steps = {
  readonly dx: readonly number[]
  readonly dy: readonly number[]
  readonly size: readonly number[]
  readonly path: number
}

export function stepsOf({ x, y }: Stroke): Steps {
  const dx: number[] = []
  const dy: number[] = []
  const size: number[] = []
  let path = 0
  for (let index = 1; index < x.length; index += 1) {
    const right = (x[index] ?? 0) - (x[index - 1] ?? 0)
    const down = (y[index] ?? 0) - (y[index - 1] ?? 0)
    const step = length(right, down)
    dx.push(right)
    dy.push(down)
    size.push(step)
    path += step
  }
  return { dx, dy, size, path }
}
