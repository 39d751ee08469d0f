// Computes what the published rules make of a recorded session, from its opened records alone. For measuring bots
// against a server that has not judged yet, and for comparing with one that has.
import { probeOutcomes, type ReadRecord, type TelemetryEvent } from '@pohf/protocol/telemetry'
import { judgeMotion, type MotionJudgement, type MotionPoint } from '@pohf/scorer'
import { currentModel } from '@pohf/scorer/current-model'
import {
  deviceScores,
  type FlagName,
  historyScore,
  judgeAttention,
  probeScore,
} from '../../server/src/evidence/rules.ts'

export type Judgement = {
  readonly verified: boolean
  readonly quality: number
  readonly flags: readonly FlagName[]
  readonly reasons: readonly string[]
  readonly motion: MotionJudgement
  readonly probes: { readonly asked: number; readonly hit: number }
}

const pointsOf = (event: TelemetryEvent): MotionPoint[] => {
  if (event.type === 'motion' && event.pointer === 'm')
    return event.points.map((point) => ({ ...point, type: 'move' }))
  if ((event.type === 'down' || event.type === 'up') && event.pointer === 'm')
    return [{ t: event.t, x: event.x, y: event.y, type: event.type }]
  return []
}

/** The share of the session in which the page was visible, had the focus and showed half of what was watched. */
const focusOf = (events: readonly TelemetryEvent[], endMs: number): number => {
  let [since, good]: [number | null, number] = [null, 0]
  for (const event of events) {
    if (event.type !== 'focus') continue
    const isAttended = event.visible && event.focused && event.share >= 50
    if (since !== null) good += event.t - since
    since = isAttended ? event.t : null
  }
  if (since !== null) good += endMs - since
  return endMs > 0 ? Math.min(1, good / endMs) : 0
}

const approachMs = 1_000

/** Whether more than half of the presses came without a way there. */
const lacksApproach = (events: readonly TelemetryEvent[]): boolean => {
  const presses = events.filter((event) => event.type === 'down' && event.pointer === 'm')
  const bare = presses.filter(
    (press) =>
      !events.some(
        (event) =>
          event.type === 'motion' &&
          event.points.length > 1 &&
          event.points.some(({ t }) => t <= press.t && t >= press.t - approachMs),
      ),
  )
  return bare.length * 2 > presses.length
}

const pressMsMin = 5

const hasShortPress = (events: readonly TelemetryEvent[]): boolean =>
  events.some((event, index) => {
    if (event.type !== 'down') return false
    const up = events.slice(index).find((later) => later.type === 'up')
    return up !== undefined && up.t - event.t < pressMsMin
  })

/** A new visitor: no device known, no history. The chain was checked when it was taken. */
export const judgeRecords = (records: readonly ReadRecord[]): Judgement => {
  const events = records.flatMap(({ chunk }) => chunk.events)
  const endMs = records.at(-1)?.chunk.t1 ?? 0
  const outcomes = probeOutcomes(records)
  const hit = outcomes.filter(({ result }) => result === 'hit').length
  const motion = judgeMotion(events.flatMap(pointsOf), currentModel)
  const focus = focusOf(events, endMs)
  const tooEarly = outcomes.filter(({ result, probe }) => result === 'early' && probe.kind === 'point').length
  const found: readonly (readonly [FlagName, boolean])[] = [
    ['untrusted_events', events.some((event) => 'trusted' in event && !event.trusted)],
    ['automation_env', records.some(({ chunk }) => chunk.environment?.webdriver === true)],
    ['honeypot_hit', events.some(({ type }) => type === 'honeypot')],
    ['impossible_timing', tooEarly >= 2 || hasShortPress(events)],
    ['no_approach_path', lacksApproach(events)],
    ['synthetic_motion', motion.synthetic],
    ['background', focus < 0.5],
    ['probe_missed', hit * 2 < outcomes.length],
    ['insufficient_evidence', motion.motionSeconds < 1 && outcomes.length < 2],
  ]
  const flags = found.filter(([, isSet]) => isSet).map(([name]) => name)
  const components = {
    focus,
    probe: probeScore(hit, outcomes.length),
    input: motion.p === null ? null : 0.5 + (motion.p - 0.5) * Math.min(1, motion.motionSeconds / 10),
    gaze: null,
    device: deviceScores.none,
    history: historyScore(0, 0),
  }
  const verdict = judgeAttention({ components, flags, probesOffered: outcomes.length, answerCorrect: null })
  return { ...verdict, flags, motion, probes: { asked: outcomes.length, hit } }
}
