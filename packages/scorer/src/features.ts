// What a stroke looks like, in numbers that do not depend on the size of the task, and how strokes are put together
// into windows of 1, 3 or 10 seconds of motion.
import { deviation } from './arithmetic.ts'
import { pathFeatures } from './path-features.ts'
import { speedFeatures } from './speed-features.ts'
import { stepsOf } from './steps.ts'
import type { Stroke } from './strokes.ts'
import { tremorFeatures } from './tremor-features.ts'

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
