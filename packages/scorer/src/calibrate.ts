// The probability that people of one pointer and platform reach with this model. Without it, low motion counts against
// nobody on that pointer and platform.
import { ln, logistic } from './arithmetic.ts'
import type { MotionEvaluation } from './motion.ts'
import type { Calibration } from './score.ts'

export type ConsentedSession = { readonly person: string; readonly motion: MotionEvaluation }
export type CalibrationResult =
  | {
      readonly type: 'calibrated'
      readonly calibration: Calibration
      readonly people: number
      readonly sessions: number
    }
  | { readonly type: 'refused'; readonly reason: string }

/** With fewer people, the result describes these persons and not people in general. */
const peopleMin = 5
const sessionsMin = 20
const secondsMin = 3
/** The normal deviate of 1 %. */
const onePercentDeviate = -2.3263478740408408
const pBound = 0.0005

const logit = (p: number): number => {
  const bounded = Math.min(1 - pBound, Math.max(pBound, p))
  return ln(bounded / (1 - bounded))
}

/**
 * The probability that 99 of 100 people reach: the 1 % point of a normal law through the log-odds of these sessions, or the
 * lowest of them, whichever is lower. There are too few sessions to read a quantile off. A threshold that is too low misses
 * a bot; one that is too high flags a person.
 */
export const calibrate = (sessions: readonly ConsentedSession[]): CalibrationResult => {
  const usable = sessions.flatMap(({ person, motion }) =>
    motion.p === null || motion.motionSeconds < secondsMin ? [] : [{ person, odds: logit(motion.p) }],
  )
  const people = new Set(usable.map(({ person }) => person)).size
  if (people < peopleMin || usable.length < sessionsMin)
    return {
      type: 'refused',
      reason: `${usable.length} sessions of ${people} people have ${secondsMin} s of mouse motion; at least ${sessionsMin} of ${peopleMin} are needed`,
    }
  let sum = 0
  for (const { odds } of usable) sum += odds
  const mean = sum / usable.length
  let squares = 0
  for (const { odds } of usable) squares += (odds - mean) * (odds - mean)
  const spread = Math.sqrt(squares / (usable.length - 1))
  const lowest = Math.min(...usable.map(({ odds }) => odds))
  const pMin = Math.floor(logistic(Math.min(lowest, mean + onePercentDeviate * spread)) * 1_000) / 1_000
  return { type: 'calibrated', calibration: { pointer: 'mouse', pMin }, people, sessions: usable.length }
}
