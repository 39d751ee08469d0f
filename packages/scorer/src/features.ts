// What a stroke looks like, in numbers that do not depend on the size of the task, and how strokes are put together
// into windows of 1, 3 or 10 seconds of motion.
import { angle, correlation, deviation, length, ln, mean } from './arithmetic.ts'
import { SAMPLES_PER_SECOND, type Stroke } from './strokes.ts'

/** Below this turn (radians) two steps point the same way. */
const TURN_MIN = 1e-3

type Steps = {
  readonly dx: readonly number[]
  readonly dy: readonly number[]
  readonly size: readonly number[]
  readonly path: number
}

function stepsOf({ x, y }: Stroke): Steps {
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

function differences(values: readonly number[]): number[] {
  const result: number[] = []
  for (let index = 1; index < values.length; index += 1) {
    result.push((values[index] ?? 0) - (values[index - 1] ?? 0))
  }
  return result
}

/** The weights 1/4, 1/2, 1/4, with nothing beyond the ends. */
function smooth(values: readonly number[]): number[] {
  return values.map(
    (value, index) => 0.25 * (values[index - 1] ?? 0) + 0.5 * value + 0.25 * (values[index + 1] ?? 0),
  )
}

function energy(values: readonly number[]): number {
  let sum = 0
  for (const value of values) sum += value * value
  return values.length === 0 ? 0 : sum / values.length
}

function share(values: readonly number[], holds: (value: number) => boolean): number {
  if (values.length === 0) return 0
  let count = 0
  for (const value of values) if (holds(value)) count += 1
  return count / values.length
}

function largest(values: readonly number[]): number {
  let result = 0
  for (const value of values) if (value > result) result = value
  return result
}

/** What is left of a coordinate after a moving mean of five samples: hand tremor and pixel noise. */
function residual(values: readonly number[]): number[] {
  const result: number[] = []
  for (let index = 2; index < values.length - 2; index += 1) {
    let sum = 0
    for (let near = index - 2; near <= index + 2; near += 1) sum += values[near] ?? 0
    result.push((values[index] ?? 0) - sum / 5)
  }
  return result
}

function lagged(values: readonly number[], lag: number): number {
  return correlation(values.slice(0, values.length - lag), values.slice(lag))
}

/** How fast it goes, when it is fastest, how the speed rises and falls. */
function speedFeatures(steps: Steps, seconds: number): number[] {
  const speed = steps.size.map((size) => size * SAMPLES_PER_SECOND)
  const smoothed = smooth(speed)
  const top = largest(speed)
  const smoothTop = largest(smoothed)
  const average = mean(speed)
  const spread = deviation(speed)
  let cubes = 0
  for (const value of speed) cubes += (value - average) * (value - average) * (value - average)
  const acceleration = differences(smoothed)
  const jerk = differences(acceleration)
  const rate = SAMPLES_PER_SECOND * SAMPLES_PER_SECOND
  const jerkCost =
    (energy(jerk) * jerk.length * rate * rate * seconds * seconds * seconds) / SAMPLES_PER_SECOND
  return [
    ln(1 + average),
    ln(1 + top),
    smoothed.indexOf(smoothTop) / smoothed.length,
    spread / (average + 1e-9),
    cubes / speed.length / (spread * spread * spread + 1e-9),
    ln(1 + mean(acceleration.map(Math.abs)) * SAMPLES_PER_SECOND),
    ln(1 + deviation(acceleration) * SAMPLES_PER_SECOND),
    ln(1e-9 + jerkCost / (top * top + 1e-9)),
    mean(speed.slice(-3)) / (top + 1e-9),
    mean(speed.slice(0, 2)) / (top + 1e-9),
    lagged(speed, 1),
    lagged(speed, 2),
    ...peakFeatures(smoothed, smoothTop, seconds),
    ...paceFeatures(steps),
  ]
}

/** Sub-movements: peaks of the speed, the share of the largest, its asymmetry. */
function peakFeatures(speed: readonly number[], top: number, seconds: number): number[] {
  const peaks: number[] = []
  for (let index = 1; index < speed.length - 1; index += 1) {
    const here = speed[index] ?? 0
    if (here > (speed[index - 1] ?? 0) && here >= (speed[index + 1] ?? 0) && here > 0.1 * top)
      peaks.push(here)
  }
  const sorted = peaks.toSorted((left, right) => right - left)
  const crest = speed.indexOf(top)
  let from = crest
  while (from > 0 && (speed[from - 1] ?? 0) <= (speed[from] ?? 0)) from -= 1
  let until = crest
  while (until < speed.length - 1 && (speed[until + 1] ?? 0) <= (speed[until] ?? 0)) until += 1
  let inside = 0
  let all = 0
  let above = 0
  let aboveBefore = 0
  for (let index = 0; index < speed.length; index += 1) {
    const value = speed[index] ?? 0
    all += value
    if (index >= from && index <= until) inside += value
    if (value > top / 2) {
      above += 1
      if (index < crest) aboveBefore += 1
    }
  }
  return [
    peaks.length / seconds,
    (sorted[1] ?? 0) / (top + 1e-9),
    inside / (all + 1e-9),
    above / speed.length,
    aboveBefore / above,
  ]
}

/** The share of the time that the first and last twentieth of the way take, pauses, and repeated or tiny steps. */
function paceFeatures({ dx, dy, size, path }: Steps): number[] {
  let gone = 0
  let head = 0
  let tail = 0
  let same = 0
  let back = 0
  for (let index = 0; index < size.length; index += 1) {
    gone += size[index] ?? 0
    if (gone < 0.05 * path) head += 1
    if (gone > 0.95 * path) tail += 1
    if (index === 0) continue
    const right = dx[index] ?? 0
    const down = dy[index] ?? 0
    const rightBefore = dx[index - 1] ?? 0
    const downBefore = dy[index - 1] ?? 0
    if (right === rightBefore && down === downBefore && (right !== 0 || down !== 0)) same += 1
    if (right * rightBefore + down * downBefore < 0) back += 1
  }
  return [
    head / size.length,
    tail / size.length,
    same / size.length,
    back / size.length,
    share(size, (step) => step === 0),
    share(size, (step) => step > 0 && step < 1.5),
  ]
}

/** Where it goes: straightness, turns, the coupling of curvature and speed, whole-pixel directions. */
function pathFeatures(stroke: Stroke, { dx, dy, size, path }: Steps): number[] {
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

/** Tremor and noise: how large, how white, along or across the way, in slow or in fast motion. */
function tremorFeatures(stroke: Stroke, { dx, dy, size }: Steps): number[] {
  const restX = residual(stroke.x)
  const restY = residual(stroke.y)
  const second = [...differences(dx), ...differences(dy)]
  const third = [...differences(differences(dx)), ...differences(differences(dy))]
  const fourth = [...differences(differences(differences(dx))), ...differences(differences(differences(dy)))]
  let along = 0
  let across = 0
  const slow: number[] = []
  const fast: number[] = []
  const middle = size.toSorted((left, right) => left - right)[Math.floor(size.length / 2)] ?? 0
  for (let index = 0; index < restX.length; index += 1) {
    const right = (dx[index + 1] ?? 0) + (dx[index + 2] ?? 0)
    const down = (dy[index + 1] ?? 0) + (dy[index + 2] ?? 0)
    const way = length(right, down)
    const offX = restX[index] ?? 0
    const offY = restY[index] ?? 0
    if (way > 0) {
      const forward = (offX * right + offY * down) / way
      const sideways = (offY * right - offX * down) / way
      along += forward * forward
      across += sideways * sideways
    }
    const total = offX * offX + offY * offY
    if ((size[index + 2] ?? 0) <= middle) slow.push(total)
    else fast.push(total)
  }
  return [
    ln(0.01 + Math.sqrt(energy(restX) + energy(restY))),
    lagged(restX, 1) + lagged(restY, 1),
    lagged(restX, 2) + lagged(restY, 2),
    ln((across + 0.05) / (along + 0.05)),
    ln((mean(slow) + 0.02) / (mean(fast) + 0.02)),
    ln((energy(third) + 0.05) / (energy(second) + 0.05)),
    ln((energy(fourth) + 0.05) / (energy(third) + 0.05)),
    ln(across / (restX.length + 1) + 0.01),
  ]
}

/** The order of the numbers that `strokeFeatures` gives. */
export const STROKE_FEATURES = [
  'seconds',
  'speed_mean',
  'speed_top',
  'top_at',
  'speed_variation',
  'speed_skew',
  'acceleration_mean',
  'acceleration_spread',
  'jerk',
  'end_speed',
  'start_speed',
  'speed_lag1',
  'speed_lag2',
  'peaks_per_second',
  'second_peak',
  'main_hump',
  'half_width',
  'half_rise',
  'head_time',
  'tail_time',
  'same_steps',
  'back_steps',
  'still_steps',
  'tiny_steps',
  'straightness',
  'deflection',
  'one_sided',
  'turn_mean',
  'turn_spread',
  'turn_none',
  'turn_sharp',
  'turn_flips',
  'turn_lag1',
  'turn_speed',
  'power_slope',
  'power_fit',
  'axis_steps',
  'axis_run',
  'direction_entropy',
  'tremor',
  'tremor_lag1',
  'tremor_lag2',
  'tremor_across',
  'tremor_slow',
  'noise_third',
  'noise_fourth',
  'tremor_sideways',
] as const

/** The numbers of one stroke, in the order of `STROKE_FEATURES`. */
export function strokeFeatures(stroke: Stroke): number[] {
  const steps = stepsOf(stroke)
  return [
    stroke.seconds,
    ...speedFeatures(steps, stroke.seconds),
    ...pathFeatures(stroke, steps),
    ...tremorFeatures(stroke, steps),
  ]
}

export const WINDOW_SECONDS = [1, 3, 10] as const
export type WindowSeconds = (typeof WINDOW_SECONDS)[number]

/** A window: the mean of each stroke feature weighted by duration, its spread between strokes, and the count. */
export const WINDOW_FEATURES: readonly string[] = [
  ...STROKE_FEATURES.map((name) => `${name}.mean`),
  ...STROKE_FEATURES.map((name) => `${name}.spread`),
  'strokes',
]

type StrokeFeatures = readonly number[]

/** Joins strokes in order until they hold `seconds` of motion, then begins again; an unfinished rest is left out. */
export function groupStrokes(strokes: readonly StrokeFeatures[], seconds: number): StrokeFeatures[][] {
  const groups: StrokeFeatures[][] = []
  let first = 0
  let motion = 0
  for (let index = 0; index < strokes.length; index += 1) {
    motion += strokes[index]?.[0] ?? 0
    if (motion < seconds) continue
    groups.push(strokes.slice(first, index + 1))
    first = index + 1
    motion = 0
  }
  return groups
}

/** The features of each window of a recording, in order. */
export function toWindows(strokes: readonly StrokeFeatures[], seconds: number): number[][] {
  return groupStrokes(strokes, seconds).map(summarise)
}

/** The features of one window, in the order of `WINDOW_FEATURES`. */
export function summarise(strokes: readonly StrokeFeatures[]): number[] {
  let motion = 0
  for (const stroke of strokes) motion += stroke[0] ?? 0
  const means: number[] = []
  const spreads: number[] = []
  for (let feature = 0; feature < STROKE_FEATURES.length; feature += 1) {
    let sum = 0
    for (const stroke of strokes) sum += (stroke[feature] ?? 0) * (stroke[0] ?? 0)
    means.push(sum / motion)
    spreads.push(deviation(strokes.map((stroke) => stroke[feature] ?? 0)))
  }
  return [...means, ...spreads, strokes.length]
}
