// The strongest synthetic family: a few overlapping strokes whose speed is a lognormal bell, each along an arc, plus a
// slow tremor, bent at the end onto the target.
import { gaussian, type Random, uniform } from '../random.ts'
import { difficulty, distance, minimumJerk, type Generator, type TimedPoint } from './types.ts'

type Stroke = {
  readonly startsAt: number
  readonly mu: number
  readonly sigma: number
  readonly length: number
  readonly angleFrom: number
  readonly angleTo: number
}

/** Error function by Abramowitz and Stegun 7.1.26, exact to 1.5e-7. */
const erf = (value: number): number => {
  const x = Math.abs(value)
  const k = 1 / (1 + 0.3275911 * x)
  const sum = ((((1.061405429 * k - 1.453152027) * k + 1.421413741) * k - 0.284496736) * k + 0.254829592) * k
  return Math.sign(value) * (1 - sum * Math.exp(-x * x))
}

const plan = (random: Random, length: number, angle: number): Stroke[] => {
  const count = length < 120 ? 1 : random() < 0.5 ? 2 : 3
  const strokes: Stroke[] = []
  let left = 1
  let startsAt = 0
  for (let index = 0; index < count; index += 1) {
    const share = index === count - 1 ? left : left * uniform(random, 0.75, 0.97)
    left -= share
    const mu = Math.log(uniform(random, 110, 190) * (index > 0 ? 0.7 : 1 + difficulty(length) * 0.12))
    const spread = index > 0 ? 0.24 : 0.12
    strokes.push({
      startsAt,
      mu,
      sigma: uniform(random, 0.22, 0.42),
      length: share * length,
      angleFrom: angle + gaussian(random) * spread,
      angleTo: angle + gaussian(random) * spread,
    })
    startsAt += Math.exp(mu) * uniform(random, 0.9, 1.6)
  }
  return strokes
}

const shareDone = (stroke: Stroke, t: number): number => {
  const since = t - stroke.startsAt
  return since <= 0 ? 0 : 0.5 * (1 + erf((Math.log(since) - stroke.mu) / (stroke.sigma * Math.SQRT2)))
}

export const sigmaLognormal: Generator = (random, from, to) => {
  const angle = Math.atan2(to.y - from.y, to.x - from.x)
  const strokes = plan(random, distance(from, to), angle)
  const last = strokes.at(-1)
  const endsAt = (last ? last.startsAt + Math.exp(last.mu) * 1.25 : 0) + 350
  const walked: TimedPoint[] = []
  const done = strokes.map(() => 0)
  let [x, y, tremorX, tremorY] = [from.x, from.y, 0, 0]
  for (let t = 0; t <= endsAt; t += (1_000 / 60) * Math.max(0.5, 1 + gaussian(random) * 0.05)) {
    for (const [index, stroke] of strokes.entries()) {
      const share = shareDone(stroke, t)
      const step = stroke.length * (share - (done[index] ?? 0))
      const heading = stroke.angleFrom + (stroke.angleTo - stroke.angleFrom) * share
      done[index] = share
      x += step * Math.cos(heading)
      y += step * Math.sin(heading)
    }
    tremorX = 0.8 * tremorX + gaussian(random) * 0.35
    tremorY = 0.8 * tremorY + gaussian(random) * 0.35
    walked.push({ t, x: x + tremorX, y: y + tremorY })
  }
  const end = walked.at(-1) ?? { t: 0, ...from }
  const missX = to.x + gaussian(random) * 5 - end.x
  const missY = to.y + gaussian(random) * 5 - end.y
  return walked
    .map((point) => {
      const bend = minimumJerk(point.t / Math.max(1, end.t))
      return { t: point.t, x: Math.round(point.x + missX * bend), y: Math.round(point.y + missY * bend) }
    })
    .filter((point, index, all) => {
      const before = all[index - 1]
      return !before || before.x !== point.x || before.y !== point.y
    })
}
