// Small recordings for tests, made from a seed with exact arithmetic alone.
import type { MotionPoint } from '../src/index.ts'

/** A linear congruential source of numbers in [0, 1). */
function createRandom(seed: number): () => number {
  let state = seed % 2_147_483_647
  if (state <= 0) state += 2_147_483_646
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return (state - 1) / 2_147_483_646
  }
}

/** Strokes with a smooth speed, a bend, some noise, and a click after each. Nobody's hand; only something to measure. */
export function wobblyRecording(seed: number, strokes: number): MotionPoint[] {
  const next = createRandom(seed)
  const points: MotionPoint[] = []
  let t = 0
  let [x, y] = [400, 300]
  for (let stroke = 0; stroke < strokes; stroke += 1) {
    const [toX, toY] = [Math.round(100 + 1_000 * next()), Math.round(100 + 500 * next())]
    const count = 20 + Math.floor(30 * next())
    const bend = 120 * (next() - 0.5)
    for (let index = 0; index <= count; index += 1) {
      const s = index / count
      const eased = s * s * (3 - 2 * s)
      points.push({
        t,
        x: Math.round(x + (toX - x) * eased + 3 * (next() - 0.5)),
        y: Math.round(y + (toY - y) * eased + bend * s * (1 - s) * 4 + 3 * (next() - 0.5)),
        type: 'move',
      })
      t += 15 + Math.floor(4 * next())
    }
    ;[x, y] = [toX, toY]
    points.push({ t: t + 40, x, y, type: 'down' }, { t: t + 120, x, y, type: 'up' })
    t += 500
  }
  return points
}

/** Straight lines at one speed: what no hand does. */
export function straightRecording(strokes: number): MotionPoint[] {
  const points: MotionPoint[] = []
  let t = 0
  for (let stroke = 0; stroke < strokes; stroke += 1) {
    const back = stroke % 2 === 1
    for (let index = 0; index <= 40; index += 1) {
      const along = back ? 40 - index : index
      points.push({ t, x: 100 + 20 * along, y: 100 + 10 * along, type: 'move' })
      t += 16
    }
    t += 400
  }
  return points
}
