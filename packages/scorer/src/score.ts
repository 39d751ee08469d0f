// From the opened records of a session to its verdict. Pure: the same records and the same context give the same bits
// in every engine, so anybody with the records can recompute a score.
import { probeOutcomes, type ProbeOutcome, type ReadRecord } from '@pohf/protocol/probes'
import {
  readChunk,
  type ProbeTruth,
  type TelemetryEvent,
  type TelemetryRecord,
} from '@pohf/protocol/telemetry'
import {
  flagCaps,
  inputScore,
  evaluateAttention,
  probeScore,
  probesMinOf,
  rulesVersion,
  withInput,
  type Components,
  type FlagName,
  type Verdict,
} from './quality.ts'
import type { MotionEvaluation } from './motion.ts'
import type { MotionPoint } from './strokes.ts'
import {
  addVisibleTime,
  focusScore,
  needsOneProbe,
  neverVisible,
  visibleMsAt,
  type ScoredKind,
} from './visible.ts'

export type InputModel = {
  readonly version: string
  readonly evaluate: (points: readonly MotionPoint[]) => MotionEvaluation
}

/** Measured on consenting people of this pointer and platform: 99 of 100 of them reach this probability. */
export type Calibration = { readonly pointer: 'mouse'; readonly pMin: number }

export type ScoreContext = {
  readonly kind: ScoredKind
  /** What the server alone knows; an auditor reads these off the credential. */
  readonly device: number
  readonly history: number
  readonly known: readonly FlagName[]
  readonly answerCorrect: boolean | null
  /** Null: this pointer and platform are not calibrated, and motion is only observed. */
  readonly calibration: Calibration | null
}

/** Flags that no record shows: they come from the server's memory, and an auditor takes its word for them. */
export const serverFlags: readonly FlagName[] = [
  'chain_broken',
  'nonce_reuse',
  'automation_env',
  'replay_match',
  'clock_skew',
  'device_shared',
  'datacenter_ip',
]

/** Probes of one kind. */
export type ProbeCount = { readonly asked: number; readonly hit: number }

export type SessionEvidence = {
  readonly chunks: number
  readonly durationMs: number
  readonly visibleMs: number
  readonly probes: number
  readonly hits: number
  /** The same by kind: pictures to point at, words to choose from. */
  readonly pictures: ProbeCount
  readonly words: ProbeCount
  /** The server knew the browser from an earlier day on this site. */
  readonly returning: boolean
  readonly motionSeconds: number
  readonly strokes: number
  readonly p: number | null
  readonly keys: number
  readonly presses: number
  readonly lost: number
}
export type SessionScore = Verdict & {
  readonly components: Components
  readonly flags: readonly FlagName[]
  /** Whether one probe suffices. */
  readonly oneProbe: boolean
  /** Noticed and not held against anybody. */
  readonly observations: readonly FlagName[]
  readonly assurance: 'low'
  readonly evidence: SessionEvidence
  readonly scoring: string
}

const rounded = (value: number): number => Math.round(value * 1_000) / 1_000

/** Formula, model and calibration in one name: with it, the opened records and the credential all is recomputed. */
const scoringName = (model: string, calibration: Calibration | null): string =>
  `${rulesVersion}+${model}${calibration ? `+${calibration.pointer}-${calibration.pMin.toFixed(3)}` : ''}`

/** The calibration that a scoring name states; undefined where the name is not one of this version. */
export const readScoringName = (
  name: string,
  model: string,
): { readonly calibration: Calibration | null } | undefined => {
  if (name === scoringName(model, null)) return { calibration: null }
  const [, pMin] = /\+mouse-([01]\.\d{3})$/.exec(name) ?? []
  if (pMin === undefined) return undefined
  const calibration: Calibration = { pointer: 'mouse', pMin: Number(pMin) }
  return name === scoringName(model, calibration) ? { calibration } : undefined
}

const isUntrusted = (event: TelemetryEvent): boolean => 'trusted' in event && !event.trusted

/** All mouse motion of a session, with the presses that end strokes. What is not a v1 chunk is left out. */
export const readMouseMotion = (opened: readonly Pick<TelemetryRecord, 'chunk'>[]): MotionPoint[] =>
  opened.flatMap(({ chunk }) => pointsOf(readChunk(chunk)?.events ?? []))

const pointsOf = (events: readonly TelemetryEvent[]): MotionPoint[] =>
  events.flatMap((event): MotionPoint[] => {
    if (event.type === 'motion' && event.pointer === 'm')
      return event.points.map(({ t, x, y }) => ({ t, x, y, type: 'move' }))
    if ((event.type === 'down' || event.type === 'up') && event.pointer === 'm')
      return [{ t: event.t, x: event.x, y: event.y, type: event.type }]
    return []
  })

/** One press may come as down, click and answer: what follows within this time is the same press. */
const samePressMs = 400
const mousePresses = (events: readonly TelemetryEvent[]): number[] => {
  const presses: number[] = []
  for (const event of events) {
    const byMouse =
      (event.type === 'down' && event.pointer === 'm') ||
      (event.type === 'click' && event.how === 'm') ||
      ((event.type === 'point' || event.type === 'choose') && event.how === 'm')
    const last = presses.at(-1)
    if (byMouse && (last === undefined || event.t - last > samePressMs)) presses.push(event.t)
  }
  return presses
}

/** An approach is a path: a single jump to the target, as automation makes it, is none. */
const approachMs = 1_000
const approachPointsMin = 3
const hasNoApproach = (presses: readonly number[], points: readonly MotionPoint[]): boolean => {
  const moves = points.filter(({ type }) => type === 'move')
  let from = 0
  let bare = 0
  for (const press of presses) {
    while (from < moves.length && (moves[from]?.t ?? 0) < press - approachMs) from += 1
    let near = 0
    while (near < approachPointsMin && (moves[from + near]?.t ?? Infinity) <= press) near += 1
    if (near < approachPointsMin) bare += 1
  }
  // One press where the pointer happened to rest says nothing.
  return bare >= 2 && bare * 2 > presses.length
}

/** No finger lets a button go sooner. */
const pressMsMin = 5
const tooShortPresses = (events: readonly TelemetryEvent[]): number => {
  let down: number | null = null
  let count = 0
  for (const event of events) {
    if (event.type === 'down' && event.pointer === 'm') down = event.t
    if (event.type !== 'up' || event.pointer !== 'm') continue
    if (down !== null && event.t - down < pressMsMin) count += 1
    down = null
  }
  return count
}
/** Once may be a quirk of a driver. */
const impossibleMin = 2

/** Sequence, receipts, clock and end, as far as they show without cryptography. */
const chainFlags = (records: readonly ReadRecord[]): FlagName[] => {
  const tokens = new Set(records.map(({ after }) => after.token))
  const holds = records.every(({ chunk, after }, index) => {
    const isLast = index === records.length - 1
    const before = records[index - 1]?.chunk.t1 ?? 0
    return (
      chunk.seq === index + 1 &&
      chunk.receipt === after.token &&
      (index === 0 || chunk.t0 === before) &&
      (chunk.last === null) === !isLast
    )
  })
  const last = records.at(-1)?.chunk
  const ends = last?.last?.n === records.length && last.last.ms === last.t1
  return [
    ...(holds && ends ? [] : (['chain_broken'] as const)),
    ...(tokens.size === records.length ? [] : (['nonce_reuse'] as const)),
  ]
}

const skewShareMax = 0.1
const skewMsMax = 2_000
const isFar = (apart: number, longer: number) => apart > skewMsMax && apart > skewShareMax * longer
/** The least delay among the last chunks tells clocks apart; one of them may have waited for the network. */
const lastChunks = 3
const isSkewed = (records: readonly ReadRecord[]): boolean => {
  const start = records[0]?.after.at ?? 0
  const leads = records.map(({ chunk, receivedAt }) => ({
    lead: chunk.t1 - (receivedAt - start),
    longer: Math.max(chunk.t1, receivedAt - start),
  }))
  return (
    leads.some(({ lead, longer }) => isFar(lead, longer)) ||
    (leads.length > 0 && leads.slice(-lastChunks).every(({ lead, longer }) => isFar(-lead, longer)))
  )
}

type SessionFacts = {
  readonly records: readonly ReadRecord[]
  readonly events: readonly TelemetryEvent[]
  readonly outcomes: readonly ProbeOutcome[]
  /** Scored without a pointer: the person asked for probes without pointing. */
  readonly pointerless: boolean
  readonly presses: readonly number[]
  readonly points: readonly MotionPoint[]
  readonly clientMs: number
  readonly serverMs: number
}

const sessionFacts = (records: readonly ReadRecord[]): SessionFacts => {
  const events = records.flatMap(({ chunk }) => chunk.events)
  const [first, last] = [records[0], records.at(-1)]
  return {
    records,
    events,
    outcomes: probeOutcomes(records),
    pointerless: events.some(({ type }) => type === 'alternative'),
    presses: mousePresses(events),
    points: pointsOf(events),
    clientMs: last?.chunk.t1 ?? 0,
    serverMs: first && last ? Math.max(0, last.receivedAt - first.after.at) : 0,
  }
}

const isBackwards = (records: readonly ReadRecord[]): boolean =>
  records.some(({ chunk }, index) => chunk.t0 < (records[index - 1]?.chunk.t1 ?? 0))

const isImpossible = (facts: SessionFacts): boolean => {
  const early = facts.outcomes.filter(({ probe, result }) => probe.kind === 'point' && result === 'early')
  const short = facts.pointerless ? 0 : tooShortPresses(facts.events)
  return early.length >= impossibleMin || short >= impossibleMin || isBackwards(facts.records)
}

/** What the records show by themselves. */
const recordFlags = (facts: SessionFacts): FlagName[] => {
  const { events, records } = facts
  const environment = records[0]?.chunk.environment
  const rules: readonly (readonly [FlagName, boolean])[] = [
    ['untrusted_events', events.some(isUntrusted)],
    ['automation_env', environment === undefined || environment === null || environment.webdriver],
    ['honeypot_hit', events.some(({ type }) => type === 'honeypot')],
    ['impossible_timing', isImpossible(facts)],
    ['clock_skew', isSkewed(records)],
    ['no_approach_path', !facts.pointerless && hasNoApproach(facts.presses, facts.points)],
  ]
  return [...chainFlags(records), ...rules.flatMap(([name, holds]) => (holds ? [name] : []))]
}

/** Below this there is too little motion to call it synthetic. */
const syntheticSecondsMin = 3
const isSynthetic = ({ p, motionSeconds, synthetic }: MotionEvaluation, calibration: Calibration | null) =>
  calibration === null
    ? synthetic
    : p !== null && motionSeconds >= syntheticSecondsMin && p < calibration.pMin

const noMotion: MotionEvaluation = { motionSeconds: 0, strokes: 0, p: null, synthetic: false }

const countOf = (outcomes: readonly ProbeOutcome[], kind: ProbeTruth['kind']): ProbeCount => {
  const asked = outcomes.filter(({ probe }) => probe.kind === kind)
  return { asked: asked.length, hit: asked.filter(({ result }) => result === 'hit').length }
}

/** Each once, in the order of the table. */
const inTableOrder = (flags: readonly FlagName[]): FlagName[] => {
  const raised = new Set<string>(flags)
  return (Object.keys(flagCaps) as FlagName[]).filter((flag) => raised.has(flag))
}

/** What is counted, and told to the agent. */
const evidenceOf = (facts: SessionFacts, chunks: number, motion: MotionEvaluation): SessionEvidence => {
  const { events, outcomes, clientMs, serverMs } = facts
  const [pictures, words] = [countOf(outcomes, 'point'), countOf(outcomes, 'choose')]
  return {
    chunks,
    durationMs: clientMs,
    visibleMs: Math.min(visibleMsAt(addVisibleTime(neverVisible, events), clientMs), serverMs),
    probes: outcomes.length,
    hits: pictures.hit + words.hit,
    pictures,
    words,
    // The record of the first receipt says it. The credential commits to that record, so it cannot be added later.
    returning: facts.records[0]?.after.returning === true,
    motionSeconds: rounded(motion.motionSeconds),
    strokes: motion.strokes,
    p: motion.p === null ? null : rounded(motion.p),
    keys: events.filter(({ type }) => type === 'key').length,
    presses: facts.presses.length,
    lost: events.reduce((sum, event) => sum + (event.type === 'lost' ? event.count : 0), 0),
  }
}

/**
 * Scores a session from its records, oldest first: attention, and the flags of bot detection. What is not a v1 chunk breaks
 * the chain and scores 0.
 */
export const scoreSession = (
  opened: readonly Pick<TelemetryRecord, 'chunk' | 'receivedAt' | 'after'>[],
  context: ScoreContext,
  model: InputModel,
): SessionScore => {
  const read = opened.flatMap(({ chunk, receivedAt, after }): ReadRecord[] => {
    const whole = readChunk(chunk)
    return whole ? [{ chunk: whole, receivedAt, after }] : []
  })
  const facts = sessionFacts(read)
  const motion = facts.pointerless ? noMotion : model.evaluate(facts.points)
  const evidence = evidenceOf(facts, opened.length, motion)
  const { hits, probes, returning } = evidence
  const oneProbe = needsOneProbe(context.kind, returning)
  const synthetic = isSynthetic(motion, context.calibration)
  const focus = focusScore(context.kind, evidence.visibleMs, returning)
  const probe = probeScore(hits, probes)
  const components = withInput(
    {
      focus,
      probe: probe === null ? null : rounded(probe),
      input: null,
      gaze: null,
      device: rounded(context.device),
      history: rounded(context.history),
    },
    motion.p === null ? null : rounded(inputScore(motion.p, motion.motionSeconds)),
    { calibrated: context.calibration !== null, probes },
  )
  const isTooLittle = motion.motionSeconds < 1 && probes < probesMinOf(oneProbe)
  const flags = inTableOrder([
    ...context.known,
    ...(read.length === opened.length ? [] : (['chain_broken'] as const)),
    ...recordFlags(facts),
    ...(synthetic && context.calibration ? (['synthetic_motion'] as const) : []),
    ...(focus < 0.5 ? (['background'] as const) : []),
    ...(hits * 2 < probes ? (['probe_missed'] as const) : []),
    ...(isTooLittle ? (['insufficient_evidence'] as const) : []),
  ])
  const { answerCorrect } = context
  return {
    ...evaluateAttention({ components, flags, probesOffered: probes, oneProbe, answerCorrect }),
    components,
    flags,
    oneProbe,
    observations: synthetic && !context.calibration ? ['synthetic_motion'] : [],
    assurance: 'low',
    evidence,
    scoring: scoringName(model.version, context.calibration),
  }
}

/** The score with one more flag of the server: the same as if the flag had been known before. */
export const addServerFlag = (score: SessionScore, flag: FlagName): SessionScore => {
  const { components, evidence, oneProbe } = score
  const flags = inTableOrder([...score.flags, flag])
  const { probes: probesOffered } = evidence
  return {
    ...score,
    ...evaluateAttention({ components, flags, probesOffered, oneProbe, answerCorrect: null }),
    flags,
  }
}
