import { generatorOf, type Family } from './generators/index.ts'
import { distance, type Point, type StrokeLibrary, targetWidth, type TimedPoint } from './generators/types.ts'
import { createRandom, gaussian, type Random, uniform } from './random.ts'

export type SessionEvent = {
  readonly t: number
  readonly x: number
  readonly y: number
  readonly type: 'move' | 'down' | 'up'
}

const sessionMs = 60_000
const frameMs = 1_000 / 60
const screens = [
  { width: 1_280, height: 720 },
  { width: 1_366, height: 768 },
  { width: 1_536, height: 864 },
  { width: 1_920, height: 969 },
] as const

/** About 280 ms, as long as a person needs to begin to move. */
const reactionMs = (random: Random): number => 280 * Math.exp(gaussian(random) * 0.25)

const around = (random: Random, target: Point): Point => {
  const at = { x: target.x + uniform(random, -10, 10), y: target.y + uniform(random, -10, 10) }
  return distance(at, target) < targetWidth / 2 ? at : target
}

/** A stroke as a browser reports it: one whole-pixel point per frame, from `phase` ms on. */
export const toFrames = (stroke: readonly TimedPoint[], phase: number): TimedPoint[] => {
  const frames: TimedPoint[] = []
  const durationMs = stroke.at(-1)?.t ?? 0
  let current = 0
  for (let frame = phase; frame <= durationMs + frameMs; frame += frameMs) {
    while ((stroke[current + 1]?.t ?? Infinity) <= frame) current += 1
    const point = stroke[current]
    if (point && point.t <= frame) frames.push({ t: frame, x: Math.round(point.x), y: Math.round(point.y) })
  }
  return frames
}

/**
 * A minute of clicking on targets, as a browser would report it with ideal timing: one move per frame at 60 Hz, whole
 * pixels, only where the place changed. Times are whole milliseconds from the start.
 */
export const offlineSession = (family: Family, seed: number, library?: StrokeLibrary): SessionEvent[] => {
  const random = createRandom(seed)
  const generate = generatorOf(family, library)
  const screen = screens[(seed >>> 0) % screens.length] ?? screens[0]
  const place = (): Point => ({
    x: uniform(random, 60, screen.width - 60),
    y: uniform(random, 80, screen.height - 80),
  })
  const events: SessionEvent[] = []
  let position = place()
  let seen: Point = { x: Math.round(position.x), y: Math.round(position.y) }
  let t = 0
  while (t < sessionMs) {
    t += reactionMs(random)
    const to = around(random, place())
    const stroke = generate(random, position, to)
    const durationMs = stroke.at(-1)?.t ?? 0
    for (const point of toFrames(stroke, uniform(random, 0, frameMs))) {
      if (point.x === seen.x && point.y === seen.y) continue
      seen = { x: point.x, y: point.y }
      events.push({ t: Math.round(t + point.t), ...seen, type: 'move' })
    }
    t += durationMs + uniform(random, 30, 120)
    events.push({ t: Math.round(t), ...seen, type: 'down' })
    t += uniform(random, 50, 120)
    events.push({ t: Math.round(t), ...seen, type: 'up' })
    position = to
    t += uniform(random, 300, 1_800)
  }
  return events
}
