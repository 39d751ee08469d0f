// The entry point: evaluates the motion of a recording.
import { mean } from './arithmetic.ts'
import { strokeFeatures, toWindows } from './features.ts'
import { type MotionModel, humanProbability, windowScore } from './model.ts'
import { type MotionPoint, toStrokes } from './strokes.ts'

export type MotionEvaluation = {
  /** Seconds of motion in strokes; pauses are not counted. */
  readonly motionSeconds: number
  readonly strokes: number
  /** Probability that a person moved, by the longest window that the recording fills; null below one second. */
  readonly p: number | null
  /** Less like a person than 99 of 100 people, on at least three seconds of motion. */
  readonly synthetic: boolean
}

const SYNTHETIC_SECONDS_MIN = 3

/** Evaluates the pointer motion of a recording. Pure: the same points and model give the same bits everywhere. */
export function evaluateMotion(points: readonly MotionPoint[], model: MotionModel): MotionEvaluation {
  const strokes = toStrokes(points).map(strokeFeatures)
  let motionSeconds = 0
  for (const stroke of strokes) motionSeconds += stroke[0] ?? 0
  const longestFirst = model.windows.toSorted((left, right) => right.seconds - left.seconds)
  for (const window of longestFirst) {
    const scores = toWindows(strokes, window.seconds).map((row) => windowScore(row, window, model.levels))
    if (scores.length === 0) continue
    const score = mean(scores)
    return {
      motionSeconds,
      strokes: strokes.length,
      p: humanProbability(score, window),
      synthetic: window.seconds >= SYNTHETIC_SECONDS_MIN && score < window.onePercentScore,
    }
  }
  return { motionSeconds, strokes: strokes.length, p: null, synthetic: false }
}
