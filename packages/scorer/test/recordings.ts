import type { ProbeTruth, TelemetryRecord } from '@pohf/protocol/telemetry'
import type { MotionEvaluation } from '../src/motion.ts'
import type { InputModel, ScoreContext } from '../src/score.ts'

/** An event as the wire has it, but with its time since the session began in place of a step. */
export type TimedEvent = readonly [tag: string, t: number, ...fields: unknown[]]
type ScheduledProbe = { readonly at: number; readonly truth: ProbeTruth }
export type Recording = {
  readonly events: readonly TimedEvent[]
  readonly probes: readonly ScheduledProbe[]
  readonly durationMs: number
  readonly webdriver?: boolean
}

const chunkMs = 2_000
const startedAt = 1_790_000_000_000
const tokenOf = (seq: number): string => String(seq).padStart(22, 'r')

const encode = (acts: readonly TimedEvent[], t0: number): unknown[] => {
  let clock = t0
  return acts.map(([tag, t, ...fields]) => {
    const step = t - clock
    clock = t
    const [, , , run] = fields
    // After a run of motion the clock stands at its last point.
    if (tag === 'm' && Array.isArray(run)) for (let at = 2; at < run.length; at += 3) clock += Number(run[at])
    return [tag, step, ...fields]
  })
}

/** Cuts what somebody did into chunks of two seconds, as a page and a server would have recorded it. */
export const recordOf = ({
  events: acts,
  probes,
  durationMs,
  webdriver = false,
}: Recording): TelemetryRecord[] => {
  const n = Math.ceil(durationMs / chunkMs)
  const ordered = acts.toSorted((left, right) => left[1] - right[1])
  return Array.from({ length: n }, (_, index) => {
    const [t0, t1] = [index * chunkMs, Math.min(durationMs, (index + 1) * chunkMs)]
    const inside = ([, t]: TimedEvent) => t >= t0 && (t < t1 || index === n - 1)
    const probe = probes.find(({ at }) => at >= t0 && at < t1)
    const chunk = {
      v: 1,
      seq: index + 1,
      receipt: tokenOf(index),
      t0,
      t1,
      ...(index === 0
        ? {
            env: {
              webdriver,
              width: 1280,
              height: 720,
              touchPoints: 0,
              reducedMotion: false,
              coalesces: true,
            },
          }
        : {}),
      ev: encode(ordered.filter(inside), t0),
      ...(index === n - 1 ? { last: { n, ms: durationMs } } : {}),
    }
    return {
      v: 1,
      seq: index + 1,
      chunk: JSON.stringify(chunk),
      signature: '',
      receivedAt: startedAt + t1 + 60,
      after: {
        at: startedAt + t0 + (index === 0 ? 0 : 60),
        token: tokenOf(index),
        probe: probe?.truth ?? null,
      },
    }
  })
}

const probeTimesMs = [2_200, 6_300, 10_400]
const pointing = probeTimesMs.map((at, index): ScheduledProbe => ({
  at,
  truth: { id: `p${index}`, kind: 'point', x: 50, y: 60, radius: 22, fromMs: 250, toMs: 2_500 },
}))
const choosing = probeTimesMs.map((at, index): ScheduledProbe => ({
  at,
  truth: { id: `p${index}`, kind: 'choose', choice: 2, fromMs: 250, toMs: 6_000 },
}))
const focused: TimedEvent = ['f', 10, 1, 1, 100]

/** A run of 40 points, 16 ms apart, that ends at this time. */
export const run = (endMs: number, pointer = 'm', trusted = 1): TimedEvent => {
  const steps = Array.from({ length: 39 }, (_, step) => [16, 3 + (step % 3), step % 2]).flat()
  return ['m', endMs - 39 * 16, pointer, trusted, 40, [100, 100, ...steps]]
}
const press = (t: number, pointer: string, trusted = 1, heldMs = 80): TimedEvent[] => [
  ['d', t, pointer, trusted, 300, 120],
  ['u', t + heldMs, pointer, trusted, 300, 120],
  ['c', t + heldMs, pointer, trusted],
]
const keys = (from: number, count: number, trusted = 1): TimedEvent[] =>
  Array.from({ length: count }, (_, index): TimedEvent[] => [
    ['k', from + index * 210, 'd', index % 2, trusted],
    ['k', from + index * 210 + 90, 'u', index % 2, trusted],
  ]).flat()

export type Person = {
  /** Which probes are answered. */
  readonly answers?: readonly boolean[]
  readonly trusted?: 0 | 1
  readonly reactionMs?: number
}

const answered = ({ answers = [true, true, true] }: Person) =>
  probeTimesMs.filter((_, index) => answers[index])

/** Moves a mouse to each probe and presses it. */
export const mousePerson = (person: Person = {}): Recording => {
  const { trusted = 1, reactionMs = 1_000 } = person
  const acts = probeTimesMs.flatMap((at, index): TimedEvent[] => {
    const shown: TimedEvent = ['o', at + 20, `p${index}`]
    if (!answered(person).includes(at)) return [shown]
    const when = at + 20 + reactionMs
    return [
      shown,
      run(when - 40, 'm', trusted),
      ['a', when, `p${index}`, 'm', trusted, 52, 61],
      ...press(when, 'm', trusted),
    ]
  })
  return { events: [focused, ...acts], probes: pointing, durationMs: 14_000 }
}
/** Touches each probe; no motion before a touch. */
export const touchPerson = (person: Person = {}): Recording => {
  const { trusted = 1, reactionMs = 900 } = person
  const acts = probeTimesMs.flatMap((at, index): TimedEvent[] => {
    const when = at + 20 + reactionMs
    return [
      ['o', at + 20, `p${index}`],
      ...(answered(person).includes(at)
        ? ([['a', when, `p${index}`, 't', trusted, 48, 58], ...press(when, 't', trusted, 2)] as TimedEvent[])
        : []),
    ]
  })
  return { events: [focused, ...acts, run(9_000, 't', trusted)], probes: pointing, durationMs: 14_000 }
}
/** Asks for probes without pointing, and answers them by key. */
export const keyboardPerson = (person: Person = {}): Recording => {
  const { trusted = 1, reactionMs = 2_400 } = person
  const acts = probeTimesMs.flatMap((at, index): TimedEvent[] => [
    ['o', at + 20, `p${index}`],
    ...(answered(person).includes(at)
      ? ([
          ...keys(at + 200, 4, trusted),
          ['b', at + 20 + reactionMs, `p${index}`, 'k', trusted, 2],
          ['c', at + 20 + reactionMs, 'k', trusted],
        ] as TimedEvent[])
      : []),
  ])
  return { events: [focused, ['x', 900], ...acts], probes: choosing, durationMs: 14_000 }
}
/** A screen reader presses for its user: a mouse without a path, held for no time. */
export const screenReaderPerson = (person: Person = {}): Recording => {
  const { trusted = 1, reactionMs = 4_100 } = person
  const acts = probeTimesMs.flatMap((at, index): TimedEvent[] => {
    const when = at + 20 + reactionMs
    return [
      ['o', at + 20, `p${index}`],
      ...(answered(person).includes(at)
        ? ([...press(when, 'm', trusted, 1), ['b', when + 1, `p${index}`, 'm', trusted, 2]] as TimedEvent[])
        : []),
    ]
  })
  return { events: [focused, ['x', 700], ...acts], probes: choosing, durationMs: 16_000 }
}

/** A model that says what a test needs. The real one has tests of its own. */
export const fixedModel = (verdict: Partial<MotionEvaluation>): InputModel => ({
  version: 'input-0000.00',
  evaluate: (points) =>
    points.some(({ type }) => type === 'move')
      ? { motionSeconds: 10, strokes: 12, p: 0.9, synthetic: false, ...verdict }
      : { motionSeconds: 0, strokes: 0, p: null, synthetic: false },
})
export const newVisitorContext: ScoreContext = {
  kind: 'view',
  device: 0.3,
  history: 0.5,
  known: [],
  answerCorrect: null,
  calibration: null,
}
