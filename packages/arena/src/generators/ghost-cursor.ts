// The published idea of ghost-cursor in our own words: a Bezier curve whose two anchors lie on one side of the line,
// read at equal steps of its parameter, with a number of steps that follows Fitts' law.
import { type Random, uniform } from '../random.ts'
import { distance, onCurve, type Generator, type Point, type TimedPoint } from './types.ts'

type Curve = readonly [Point, Point, Point, Point]

const stepsMin = 25
const aimWidth = 44
// Beyond this length the cursor first goes past the target and then comes back.
const overshootFrom = 500
const overshootRadius = 120

const anchor = (random: Random, from: Point, to: Point, offset: number): Point => {
  const along = random()
  const length = distance(from, to) || 1
  const across = random() * offset
  return {
    x: from.x + (to.x - from.x) * along - ((to.y - from.y) / length) * across,
    y: from.y + (to.y - from.y) * along + ((to.x - from.x) / length) * across,
  }
}

const curveBetween = (random: Random, from: Point, to: Point, spreadMax: number): Curve => {
  const spread = Math.min(spreadMax, Math.max(2, distance(from, to)))
  const side = random() < 0.5 ? 1 : -1
  const anchors = [anchor(random, from, to, side * spread), anchor(random, from, to, side * spread)]
  const [first, second] = anchors.toSorted((a, b) => a.x - b.x)
  return [from, first ?? from, second ?? to, to]
}

const lengthOf = (curve: Curve): number => {
  let length = 0
  for (let step = 1; step <= 100; step += 1)
    length += distance(onCurve(curve, (step - 1) / 100), onCurve(curve, step / 100))
  return length
}

const read = (random: Random, curve: Curve): Point[] => {
  const length = lengthOf(curve) * 0.8
  const fitts = 2 * Math.log2(length / aimWidth + 1)
  const steps = Math.ceil((Math.log2(fitts + 1) + random() * stepsMin) * 3)
  return Array.from({ length: steps + 1 }, (_, index) => {
    const at = onCurve(curve, index / steps)
    return { x: Math.max(0, at.x), y: Math.max(0, at.y) }
  })
}

const paths = (random: Random, from: Point, to: Point): Point[][] => {
  if (distance(from, to) <= overshootFrom) return [read(random, curveBetween(random, from, to, 200))]
  const angle = random() * 2 * Math.PI
  const radius = overshootRadius * Math.sqrt(random())
  const past = { x: to.x + radius * Math.cos(angle), y: to.y + radius * Math.sin(angle) }
  return [
    read(random, curveBetween(random, from, past, 200)),
    read(random, curveBetween(random, past, to, 10)),
  ]
}

/** Each point is one call to the browser: the time between two is what the call takes. */
export const ghostCursor: Generator = (random, from, to) => {
  let t = 0
  return paths(random, from, to)
    .flat()
    .map((at) => {
      t += uniform(random, 5, 11)
      return { t, ...at }
    })
}

/** The same path with the time stamps that the library computes: one speed along the curve. */
export const ghostCursorTimed: Generator = (random, from, to) => {
  const timed: TimedPoint[] = []
  let t = 0
  for (const path of paths(random, from, to)) {
    const pixelsPerMs = uniform(random, 0.5, 1)
    for (const [index, at] of path.entries()) {
      const before = path[index - 1]
      if (before) t += Math.max(1, Math.round(distance(before, at) / pixelsPerMs))
      timed.push({ t, ...at })
    }
  }
  return timed
}
