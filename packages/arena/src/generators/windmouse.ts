// WindMouse, the published algorithm in our own words: gravity pulls to the target, wind pushes aside, speed is cut.
import { uniform } from '../random.ts'
import { distance, type Generator, type TimedPoint } from './types.ts'

const gravity = 9
const wind = 3
// Closer than this the wind dies down and the speed limit falls.
const calmDistance = 12
const stepsMax = 2_000

export const windMouse: Generator = (random, from, to) => {
  const points: TimedPoint[] = []
  let { x, y } = from
  let [velocityX, velocityY, windX, windY, speedMax, t] = [0, 0, 0, 0, 15, 0]
  for (let step = 0; step < stepsMax; step += 1) {
    const left = distance({ x, y }, to)
    if (left < 1) break
    const gust = Math.min(wind, left)
    windX /= Math.sqrt(3)
    windY /= Math.sqrt(3)
    if (left >= calmDistance) {
      windX += ((2 * random() - 1) * gust) / Math.sqrt(5)
      windY += ((2 * random() - 1) * gust) / Math.sqrt(5)
    } else speedMax = speedMax < 3 ? uniform(random, 3, 6) : speedMax / Math.sqrt(5)
    velocityX += windX + (gravity * (to.x - x)) / left
    velocityY += windY + (gravity * (to.y - y)) / left
    const speed = Math.hypot(velocityX, velocityY)
    if (speed > speedMax) {
      const cut = uniform(random, speedMax / 2, speedMax) / speed
      velocityX *= cut
      velocityY *= cut
    }
    x += velocityX
    y += velocityY
    t += uniform(random, 6, 11)
    points.push({ t, x: Math.round(x), y: Math.round(y) })
  }
  return points.length > 0 ? points : [{ t: 8, x: Math.round(to.x), y: Math.round(to.y) }]
}
