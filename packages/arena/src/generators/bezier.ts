import { gaussian, uniform } from '../random.ts'
import {
  difficulty,
  distance,
  minimumJerk,
  onCurve,
  type Generator,
  type Point,
  type TimedPoint,
} from './types.ts'

/** A cubic Bezier curve walked by the minimum-jerk law in Fitts' time, with white noise and now and then a correction. */
export const bezierMinimumJerk: Generator = (random, from, to) => {
  const length = distance(from, to)
  const durationMs = 150 + 160 * difficulty(length) * uniform(random, 0.8, 1.25)
  const bend = (along: number, across: number): Point => ({
    x: from.x + (to.x - from.x) * along - (to.y - from.y) * across,
    y: from.y + (to.y - from.y) * along + (to.x - from.x) * across,
  })
  const curve = [
    from,
    bend(0.33, uniform(random, -0.15, 0.15)),
    bend(0.66, uniform(random, -0.15, 0.15)),
    to,
  ] as const
  const points: TimedPoint[] = []
  const put = (t: number, at: Point) => points.push({ t, x: Math.round(at.x), y: Math.round(at.y) })
  for (let t = 0; t < durationMs; t += uniform(random, 7, 17)) {
    const at = onCurve(curve, minimumJerk(t / durationMs))
    put(t, { x: at.x + gaussian(random) * 0.6, y: at.y + gaussian(random) * 0.6 })
  }
  put(durationMs, to)
  if (random() < 0.3)
    put(durationMs + uniform(random, 40, 120), {
      x: to.x + uniform(random, -6, 6),
      y: to.y + uniform(random, -6, 6),
    })
  return points
}
