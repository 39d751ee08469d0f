import { angle, correlation, deviation, length, ln, mean } from './arithmetic.ts'
import { differences, lagged, share } from './series.ts'
import type { Steps } from './steps.ts'
import type { Stroke } from './strokes.ts'

/** Below this turn (radians) two steps point the same way. */
const TURN_MIN = 1e-3

/** Where it goes: straightness, turns, the coupling of curvature and speed, whole-pixel directions. */
export function pathFeatures(stroke: Stroke, { dx, dy, size, path }: Steps): number[] {
  const moved: number[] = []
  const heading: number[] = []
  let axis = 0
  let run = 0
  let runLongest = 0
  for (let index = 0; index < size.length; index += 1) {
    const right = dx[index] ?? 0
    const down = dy[index] ?? 0
    const alongAxis = right === 0 || down === 0
    axis += alongAxis ? 1 : 0
    run = alongAxis && (right !== 0 || down !== 0) ? run + 1 : 0
    if (run > runLongest) runLongest = run
    if ((size[index] ?? 0) === 0) continue
    moved.push(size[index] ?? 0)
    heading.push(angle(down, right))
  }
  const turns = differences(heading).map((turn) =>
    turn > Math.PI ? turn - 2 * Math.PI : turn <= -Math.PI ? turn + 2 * Math.PI : turn,
  )
  const bends = turns.map(Math.abs)
  const turning = turns.filter((turn) => Math.abs(turn) > TURN_MIN)
  let flips = 0
  for (let index = 1; index < turning.length; index += 1) {
    if ((turning[index] ?? 0) > 0 !== (turning[index - 1] ?? 0) > 0) flips += 1
  }
  const across = moved.slice(1).map((step, index) => (step + (moved[index] ?? 0)) / 2)
  const { side, sided, distance } = deflection(stroke)
  return [
    distance / path,
    side / (distance + 1),
    sided,
    mean(bends),
    deviation(turns),
    share(bends, (bend) => bend < TURN_MIN),
    share(bends, (bend) => bend > Math.PI / 2),
    turning.length > 2 ? flips / (turning.length - 1) : 0,
    lagged(turns, 1),
    correlation(bends, across),
    ...powerLaw(bends, across),
    axis / size.length,
    runLongest / size.length,
    directionEntropy(heading),
  ]
}

/** How far the path leaves the straight line, and on which side the larger part of it lies (0.5 both, 1 one). */
function deflection({ x, y }: Stroke): { side: number; sided: number; distance: number } {
  const fromX = x[0] ?? 0
  const fromY = y[0] ?? 0
  const right = (x.at(-1) ?? 0) - fromX
  const down = (y.at(-1) ?? 0) - fromY
  const distance = length(right, down)
  let side = 0
  let sum = 0
  let absolute = 0
  for (let index = 0; index < x.length; index += 1) {
    const off = (((y[index] ?? 0) - fromY) * right - ((x[index] ?? 0) - fromX) * down) / (distance + 1e-9)
    side = Math.max(side, Math.abs(off))
    sum += off
    absolute += Math.abs(off)
  }
  return { side, sided: 0.5 + 0.5 * (Math.abs(sum) / (absolute + 1e-9)), distance }
}

/** Slope and fit of log speed against log curvature: people slow down in curves by a power law. */
function powerLaw(bends: readonly number[], across: readonly number[]): [number, number] {
  const curvature: number[] = []
  const speed: number[] = []
  for (let index = 0; index < bends.length; index += 1) {
    const step = across[index] ?? 0
    const bend = (bends[index] ?? 0) / (step + 1e-6)
    if (bend <= 1e-4) continue
    curvature.push(ln(bend))
    speed.push(ln(step))
  }
  const fit = correlation(curvature, speed)
  const width = deviation(curvature)
  if (curvature.length < 6 || width < 1e-6) return [0, 0]
  return [(fit * deviation(speed)) / width, fit * fit]
}

/** Entropy (nats) of the step directions in 16 equal sectors. */
function directionEntropy(heading: readonly number[]): number {
  const counts: number[] = Array.from({ length: 16 }, () => 0)
  for (const direction of heading) {
    const sector = Math.floor(((direction + Math.PI) / (2 * Math.PI)) * 16 + 0.5) % 16
    counts[sector] = (counts[sector] ?? 0) + 1
  }
  let entropy = 0
  for (const count of counts) {
    if (count > 0) entropy -= (count / heading.length) * ln(count / heading.length)
  }
  return entropy
}
