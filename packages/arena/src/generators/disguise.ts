import { gaussian, type Random, uniform } from '../random.ts'
import type { TimedPoint } from './types.ts'

/** How much an attacker changes a recorded stroke before playing it again. */
export type Disguise = {
  /** Standard deviation of the noise on each coordinate. */
  readonly jitterPx: number
  /** Standard deviation of the logarithm by which each step is slowed or hurried. */
  readonly warp: number
  /** Whether it is turned by any angle and scaled by 0.8 to 1.25. */
  readonly turns: boolean
}

/** A recorded stroke, moved, changed as the options say, and rounded to whole pixels. */
export const disguise = (random: Random, stroke: readonly TimedPoint[], how: Disguise): TimedPoint[] => {
  const first = stroke[0] ?? { t: 0, x: 0, y: 0 }
  const angle = how.turns ? uniform(random, -Math.PI, Math.PI) : 0
  const scale = how.turns ? uniform(random, 0.8, 1.25) : 1
  const [cos, sin] = [Math.cos(angle) * scale, Math.sin(angle) * scale]
  let [t, before] = [0, first.t]
  return stroke.map((point) => {
    t += (point.t - before) * Math.exp(gaussian(random) * how.warp)
    before = point.t
    const [x, y] = [point.x - first.x, point.y - first.y]
    return {
      t,
      x: Math.round(800 + x * cos - y * sin + gaussian(random) * how.jitterPx),
      y: Math.round(600 + x * sin + y * cos + gaussian(random) * how.jitterPx),
    }
  })
}
