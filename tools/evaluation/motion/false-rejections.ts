// People whom the motion of a check would reject: recorded people cut to as much motion as a check has, scored by the
// shipped model and the formula of the scorer, for each way in which questions end. Only a calibrated platform counts
// motion against anybody.
import { currentModel } from '../../../packages/scorer/src/current-model.ts'
import {
  calibrate,
  deviceScores,
  evaluateAttention,
  evaluateMotion,
  historyScore,
  inputScore,
  withInput,
  probeScore,
  toRuns,
  toStrokes,
  type Calibration,
  type MotionEvaluation,
  type MotionPoint,
} from '../../../packages/scorer/src/index.ts'
import type { Session } from '../data.ts'
import { outcomesOf, peopleAtProbes, sequences, type Ending, type SequenceName } from '../probes.ts'

/** Seconds of motion in a check: from the least that the model judges to what the old sequence gave a restless hand. */
const CHECK_SECONDS = [1, 2, 3, 5, 10] as const

type Part = { readonly person: string; readonly motion: MotionEvaluation }

/** The strokes of a recording in pieces that hold this much motion; an unfinished rest is left out. */
export function splitByMotionSeconds(points: readonly MotionPoint[], seconds: number): MotionPoint[][] {
  const pieces: MotionPoint[][] = []
  let piece: MotionPoint[] = []
  let motion = 0
  for (const run of toRuns(points)) {
    const moves = run.map((point): MotionPoint => ({ ...point, type: 'move' }))
    const [stroke] = toStrokes(moves)
    const end = run.at(-1)
    if (!stroke || !end) continue
    // A press ends the stroke, so that two of them are not joined.
    piece.push(...moves, { ...end, type: 'down' })
    motion += stroke.seconds
    if (motion < seconds) continue
    pieces.push(piece)
    piece = []
    motion = 0
  }
  return pieces
}

const partsOf = (people: readonly Session[], seconds: number): Part[] =>
  people.flatMap(({ unit, points }) =>
    splitByMotionSeconds(points, seconds).map((piece) => ({
      person: unit,
      motion: evaluateMotion(piece, currentModel),
    })),
  )

/** Each person under the threshold that the other people set: nobody is in the calibration that they are measured with. */
function calibrationsOf(parts: readonly Part[]): Map<string, Calibration | null> {
  const people = [...new Set(parts.map(({ person }) => person))]
  return new Map(
    people.map((person) => {
      const result = calibrate(parts.filter((part) => part.person !== person))
      return [person, result.type === 'calibrated' ? result.calibration : null]
    }),
  )
}

/** Below this there is too little motion to call it synthetic, as in the scorer. */
const SYNTHETIC_SECONDS_MIN = 3

/** Whether a calibrated platform rejects a person who looked all the time and ended with these hits. */
export function isRejected(
  { p, motionSeconds }: MotionEvaluation,
  { probes, hits }: Pick<Ending, 'probes' | 'hits'>,
  calibration: Calibration | null,
): boolean {
  const isSynthetic =
    calibration !== null && p !== null && motionSeconds >= SYNTHETIC_SECONDS_MIN && p < calibration.pMin
  const { reasons } = evaluateAttention({
    components: withInput(
      {
        focus: 1,
        probe: probeScore(hits, probes),
        input: null,
        gaze: null,
        device: deviceScores.none,
        history: historyScore(0, 0),
      },
      p === null ? null : inputScore(p, motionSeconds),
      { calibrated: true, probes },
    ),
    flags: isSynthetic ? ['synthetic_motion'] : [],
    probesOffered: probes,
    oneProbe: probes === 1,
    answerCorrect: null,
  })
  return reasons.includes('quality_low')
}

export type FalseRejectionsAtLength = {
  readonly seconds: number
  readonly windows: number
  /** The share of people's windows that are rejected after each ending, by `hits/probes`. */
  readonly byEnding: Readonly<Record<string, number>>
  /** The share of checks of the mean person that are lost, by questions and motion together. */
  readonly bySequence: Readonly<Record<SequenceName, number>>
}

const keyOf = ({ hits, probes }: Pick<Ending, 'probes' | 'hits'>) => `${hits}/${probes}`

/** Endings that pass, in the order of the page. */
export const PASSING = ['1/1', '2/2', '3/3', '2/3', '4/6'] as const

/** People cut to this much motion, and how many checks of each sequence are lost. */
export function falseRejectionsAt(people: readonly Session[], seconds: number): FalseRejectionsAtLength {
  const parts = partsOf(people, seconds)
  const calibrations = calibrationsOf(parts)
  const rejectedAfter = (ending: Pick<Ending, 'probes' | 'hits'>): number =>
    parts.filter(({ person, motion }) => isRejected(motion, ending, calibrations.get(person) ?? null))
      .length / parts.length
  const byEnding = Object.fromEntries(
    PASSING.map((key) => {
      const [hits = 0, probes = 0] = key.split('/').map(Number)
      return [key, rejectedAfter({ hits, probes })]
    }),
  )
  const lostBy = (name: SequenceName): number =>
    peopleAtProbes().all.reduce((sum, { hit, weight }) => {
      const lost = outcomesOf(sequences[name], hit).reduce(
        (part, ending) => part + ending.share * (ending.passed ? (byEnding[keyOf(ending)] ?? 0) : 1),
        0,
      )
      return sum + weight * lost
    }, 0)
  return {
    seconds,
    windows: parts.length,
    byEnding,
    bySequence: {
      before: lostBy('before'),
      newVisitor: lostBy('newVisitor'),
      returning: lostBy('returning'),
    },
  }
}

export type FalseRejections = {
  readonly recorded: readonly FalseRejectionsAtLength[]
  readonly reclocked: readonly FalseRejectionsAtLength[]
}

export const measureFalseRejections = (
  recorded: readonly Session[],
  reclocked: readonly Session[],
): FalseRejections => ({
  recorded: CHECK_SECONDS.map((seconds) => falseRejectionsAt(recorded, seconds)),
  reclocked: CHECK_SECONDS.map((seconds) => falseRejectionsAt(reclocked, seconds)),
})
