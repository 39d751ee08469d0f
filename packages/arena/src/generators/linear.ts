// Straight lines: what a script does when nobody asked it to look human.
import { uniform } from '../random.ts'
import { distance, type Generator } from './types.ts'

/** `mouse.move(x, y, { steps })` of an automation library: equal steps, as fast as the protocol takes them. */
export const playwrightSteps: Generator = (random, from, to) => {
  const steps = Math.round(uniform(random, 15, 60))
  let t = 0
  return Array.from({ length: steps }, (_, index) => {
    t += uniform(random, 3, 6)
    const s = (index + 1) / steps
    return { t, x: from.x + (to.x - from.x) * s, y: from.y + (to.y - from.y) * s }
  })
}

/** One speed from start to end, a point each frame. */
export const constantVelocity: Generator = (random, from, to) => {
  const pixelsPerSecond = uniform(random, 600, 1_400)
  const steps = Math.max(3, Math.round(((distance(from, to) / pixelsPerSecond) * 1_000) / 16))
  return Array.from({ length: steps }, (_, index) => {
    const s = (index + 1) / steps
    return { t: (index + 1) * 16, x: from.x + (to.x - from.x) * s, y: from.y + (to.y - from.y) * s }
  })
}

/** A script in the page that eases in and out over 25 frames, on a shallow arc. */
export const smoothstep: Generator = (_random, from, to) =>
  Array.from({ length: 25 }, (_, index) => {
    const s = (index + 1) / 25
    const eased = s * s * (3 - 2 * s)
    return {
      t: ((index + 1) * 1_000) / 60,
      x: from.x + (to.x - from.x) * eased,
      y: from.y + (to.y - from.y) * eased + Math.sin(s * Math.PI) * 20,
    }
  })
