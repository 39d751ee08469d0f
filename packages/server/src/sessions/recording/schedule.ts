import { probeOutcomes, probeWindows, type ReadRecord } from '@pohf/protocol/probes'
import {
  addVisibleTime,
  deviceScores,
  evaluateAttention,
  focusScore,
  historyScore,
  needsOneProbe,
  neverVisible,
  probeScore,
  visibleMsAt,
  type VisibleTime,
} from '@pohf/scorer'
import type { RecordedKind } from '../rules.ts'

/** A probe by its seed: pixels, words and the right answer are derived from it. */
export type ProbeSeed = { readonly kind: 'point' | 'choose'; readonly seed: string }

export type Schedule = {
  readonly done: number
  readonly of: number
  readonly hits: number
  /** When the next probe is due, in milliseconds of the server's clock. */
  readonly dueAt: number
  /** The person asked for probes without pointing. */
  readonly alternative: boolean
  /** The probe that is not settled yet, with the records since, trimmed to what answers it. */
  readonly open: {
    readonly probe: ProbeSeed
    readonly askedAt: number
    readonly records: readonly ReadRecord[]
  } | null
  /** The browser passed on an earlier day. A recording begun by an older version has neither of these. */
  readonly returning?: boolean
  readonly visible?: VisibleTime
}

/** Uniform in [0, 1), and the seed of a probe. */
type Random = { readonly draw: number; readonly seed: string }

const probesMax = 6
/** With three misses, four of six cannot be reached any more. */
const missesMax = 2

const work = {
  firstDelayMs: 1_000,
  spacingMs: 2_000,
  /** Until the answers suffice: the mean delay of a probe, and the longest. */
  meanDelayMs: 2_000,
  delayMsMax: 10_000,
  /** Afterwards, counted from the last probe. Chunks come every 2.5 s: no gap is longer than two minutes. */
  laterMsMin: 30_000,
  laterMeanDelayMs: 60_000,
  laterMsMax: 110_000,
} as const
/** Round trip over a slow connection, after the window itself. */
const deliveryMs = 3_000
/** A chunk this little too early still gets its probe. */
const earlyToleranceMs = 100
/** Records that `probeOutcomes` considers for one probe. */
const recordsMax = 12

/** Later than any recording: the questions of an approval are asked when the person is ready for them. */
const onRequest = Number.MAX_SAFE_INTEGER

const nextMsRange = { min: 200, max: 2_500, open: 1_000, idle: 2_000 } as const

/** Exponential: the time already waited does not predict the remaining time. */
const exponentialMs = (draw: number, meanDelayMs: number): number =>
  Math.round(-meanDelayMs * Math.log(1 - draw))

/** Whether the scorer would verify this session if nothing else were known, not even motion. */
const isVerified = ({ done, hits }: Schedule, oneProbe: boolean, focus: number): boolean =>
  evaluateAttention({
    components: {
      focus,
      probe: probeScore(hits, done),
      input: null,
      gaze: null,
      device: deviceScores.none,
      history: historyScore(0, 0),
    },
    flags: [],
    probesOffered: done,
    oneProbe,
    answerCorrect: null,
  }).verified

/**
 * How many probes there are in all, as far as it is known: equal to `done` when the answers and the time in view suffice, or
 * when the answers cannot suffice within six.
 */
const probeCount = (schedule: Schedule, kind: RecordedKind, t1: number): number => {
  const { done, hits, returning = false, visible } = schedule
  const oneProbe = needsOneProbe(kind, returning)
  if (isVerified(schedule, oneProbe, 1)) {
    // The person reads the action that they decide about: more probes would only distract them.
    if (kind === 'approval') return done
    const focus = visible ? focusScore(kind, visibleMsAt(visible, t1), returning) : 1
    const isSeen = isVerified(schedule, oneProbe, focus)
    return isSeen || done >= probesMax ? done : done + 1
  }
  const misses = done - hits
  if (misses > missesMax || done >= probesMax) return done
  if (misses > 0) return done < 3 ? 3 : probesMax
  return oneProbe ? 1 : 2
}

export const newSchedule = (
  { kind, returning, words }: { kind: RecordedKind; returning: boolean; words: boolean },
  at: number,
  { draw, seed }: Random,
): Schedule => {
  const schedule: Schedule = {
    done: 0,
    of: needsOneProbe(kind, returning) ? 1 : 2,
    hits: 0,
    dueAt: at,
    alternative: words,
    open: null,
    returning,
    visible: neverVisible,
  }
  if (kind === 'approval') return { ...schedule, dueAt: onRequest }
  if (kind !== 'work') return openProbe(schedule, at, seed)
  const delayMs = Math.min(work.delayMsMax, exponentialMs(draw, work.meanDelayMs))
  return { ...schedule, dueAt: at + work.firstDelayMs + delayMs }
}

const openProbe = (schedule: Schedule, at: number, seed: string): Schedule => {
  const probe: ProbeSeed = { kind: schedule.alternative ? 'choose' : 'point', seed }
  return {
    ...schedule,
    of: Math.max(schedule.of, schedule.done + 1),
    open: { probe, askedAt: at, records: [] },
  }
}

/** When the next chunk should arrive: soon while a probe is open, else when the next one is due. */
export const nextChunkDelayMs = (schedule: Schedule, kind: RecordedKind, at: number): number => {
  if (schedule.open) return nextMsRange.open
  if (kind !== 'work' && schedule.done >= schedule.of) return nextMsRange.idle
  return Math.min(nextMsRange.max, Math.max(nextMsRange.min, schedule.dueAt - at))
}

/** Keeps the parts of a record that show how this probe was answered. */
const trimRecord = (record: ReadRecord, isFirst: boolean): ReadRecord => ({
  ...record,
  after: isFirst ? record.after : { ...record.after, probe: null },
  chunk: {
    ...record.chunk,
    events: record.chunk.events.filter(
      ({ type }) => type === 'shown' || type === 'point' || type === 'choose',
    ),
  },
})

/** When the next probe is due: after a delay in work, on request in an approval, otherwise at once, so that nobody waits. */
const nextDueAt = (
  { done, of, open }: Schedule,
  kind: RecordedKind,
  { at, draw }: { readonly at: number; readonly draw: number },
): number => {
  if (kind === 'approval') return onRequest
  if (kind !== 'work') return at
  const askedAt = open?.askedAt ?? at
  if (done < of)
    return (
      Math.max(at, askedAt + work.spacingMs) +
      Math.min(work.delayMsMax, exponentialMs(draw, work.meanDelayMs))
    )
  return askedAt + Math.min(work.laterMsMax, work.laterMsMin + exponentialMs(draw, work.laterMeanDelayMs))
}

type Advance = { readonly record: ReadRecord; readonly kind: RecordedKind; readonly draw: number }

const settleProbe = (schedule: Schedule, isHit: boolean, { record, kind, draw }: Advance): Schedule => {
  const counted = { ...schedule, done: schedule.done + 1, hits: schedule.hits + (isHit ? 1 : 0) }
  const settled = { ...counted, of: probeCount(counted, kind, record.chunk.t1) }
  return { ...settled, dueAt: nextDueAt(settled, kind, { at: record.receivedAt, draw }), open: null }
}

const advanceOpenProbe = (schedule: Schedule, advance: Advance): Schedule => {
  const { open } = schedule
  if (!open) return schedule
  const { record, kind } = advance
  const at = record.receivedAt
  const records = [...open.records, trimRecord(record, open.records.length === 0)]
  const [outcome] = probeOutcomes(records)
  const { toMs } = probeWindows[open.probe.kind]
  const shownAt = outcome?.shownAt ?? null
  if (outcome && outcome.result !== 'unanswered')
    return settleProbe(schedule, outcome.result === 'hit', advance)
  // A person who asks for word probes cannot answer this one: it is withdrawn and counts neither as hit nor as
  // miss.
  if (schedule.alternative && open.probe.kind === 'point')
    return {
      ...schedule,
      dueAt: kind === 'work' ? Math.max(at, open.askedAt + work.spacingMs) : at,
      open: null,
    }
  const isOver =
    at - open.askedAt > toMs + deliveryMs ||
    (shownAt !== null && record.chunk.t1 - shownAt > toMs) ||
    records.length >= recordsMax
  return isOver ? settleProbe(schedule, false, advance) : { ...schedule, open: { ...open, records } }
}

/** Advances the schedule by one record: settles the open probe and opens the next one when it is due. */
export const advanceSchedule = (
  schedule: Schedule,
  record: ReadRecord,
  kind: RecordedKind,
  random: Random,
): { readonly schedule: Schedule; readonly opened: ProbeSeed | null } => {
  const { events } = record.chunk
  const seen: Schedule = {
    ...schedule,
    alternative: schedule.alternative || events.some(({ type }) => type === 'alternative'),
    ...(schedule.visible ? { visible: addVisibleTime(schedule.visible, events) } : {}),
  }
  const settled = advanceOpenProbe(seen, { record, kind, draw: random.draw })
  const at = record.receivedAt
  const isRequested = kind === 'approval' && events.some(({ type }) => type === 'ask')
  const advanced = isRequested ? { ...settled, dueAt: at } : settled
  const isWanted = kind === 'work' || advanced.done < advanced.of
  if (advanced.open || !isWanted || record.chunk.last || at < advanced.dueAt - earlyToleranceMs)
    return { schedule: advanced, opened: null }
  const asked = openProbe(advanced, at, random.seed)
  return { schedule: asked, opened: asked.open?.probe ?? null }
}
