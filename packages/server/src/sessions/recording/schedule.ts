import { probeOutcomes, probeWindows, type ReadRecord } from '@pohf/protocol/telemetry'

/** A probe by the seed that it is drawn from: pixels, words and what is right all follow from it. */
export type ProbeSeed = { readonly kind: 'point' | 'choose'; readonly seed: string }

export type Schedule = {
  readonly done: number
  readonly of: number
  readonly hits: number
  /** When the next probe is due, in the server's milliseconds. */
  readonly dueAt: number
  /** Asked for probes without pointing. */
  readonly alternative: boolean
  /** Asked and not settled: what came since, cut down to what answers it. */
  readonly open: {
    readonly probe: ProbeSeed
    readonly askedAt: number
    readonly records: readonly ReadRecord[]
  } | null
}

const probesMin = 3
const hitsMin = 2
/** After a soft failure: three more. */
const probesAfterStepUp = 6
const probeSpacingMs = 2_000
const firstProbeDelayMs = 1_000
const meanDelayMs = 2_000
const delayMsMax = 10_000
/** Both ways over a slow line, after the window itself. */
const deliveryMs = 3_000
/** A chunk that comes so little before the time is not asked to come again. */
const earlyToleranceMs = 100
/** Records that `probeOutcomes` looks at for one probe. */
const recordsMax = 12

const nextMsRange = { min: 200, max: 2_500, open: 1_000, idle: 2_000 } as const

/** Exponential: having waited long says nothing about how much longer it takes. `draw` is even from 0 up to 1. */
const exponentialDelayMs = (draw: number): number =>
  Math.min(delayMsMax, Math.round(-meanDelayMs * Math.log(1 - draw)))

export const newSchedule = (at: number, draw: number): Schedule => ({
  done: 0,
  of: probesMin,
  hits: 0,
  dueAt: at + firstProbeDelayMs + exponentialDelayMs(draw),
  alternative: false,
  open: null,
})

/** When the next chunk should come: soon while a probe is open, else when the next one is due. */
export const nextChunkDelayMs = (schedule: Schedule, at: number): number => {
  if (schedule.open) return nextMsRange.open
  if (schedule.done >= schedule.of) return nextMsRange.idle
  return Math.min(nextMsRange.max, Math.max(nextMsRange.min, schedule.dueAt - at))
}

/** Keeps of a record what tells how this probe was answered. */
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

const settleProbe = (schedule: Schedule, isHit: boolean, at: number, draw: number): Schedule => {
  const done = schedule.done + 1
  const hits = schedule.hits + (isHit ? 1 : 0)
  const mustStepUp = done === probesMin && schedule.of === probesMin && hits < hitsMin
  return {
    ...schedule,
    done,
    hits,
    of: mustStepUp ? probesAfterStepUp : schedule.of,
    dueAt: Math.max(at, (schedule.open?.askedAt ?? at) + probeSpacingMs) + exponentialDelayMs(draw),
    open: null,
  }
}

const advanceOpenProbe = (schedule: Schedule, record: ReadRecord, draw: number): Schedule => {
  const { open } = schedule
  if (!open) return schedule
  const at = record.receivedAt
  const records = [...open.records, trimRecord(record, open.records.length === 0)]
  const [outcome] = probeOutcomes(records)
  const { toMs } = probeWindows[open.probe.kind]
  const shownAt = outcome?.shownAt ?? null
  if (outcome && outcome.result !== 'unanswered')
    return settleProbe(schedule, outcome.result === 'hit', at, draw)
  // Who asks for the other kind cannot answer this one: it is taken back and counts neither way here.
  if (schedule.alternative && open.probe.kind === 'point')
    return { ...schedule, dueAt: Math.max(at, open.askedAt + probeSpacingMs), open: null }
  const isOver =
    at - open.askedAt > toMs + deliveryMs ||
    (shownAt !== null && record.chunk.t1 - shownAt > toMs) ||
    records.length >= recordsMax
  return isOver ? settleProbe(schedule, false, at, draw) : { ...schedule, open: { ...open, records } }
}

/** The schedule after one more record: the open probe settled, the next one asked when its time has come. */
export const advanceSchedule = (
  schedule: Schedule,
  record: ReadRecord,
  random: { readonly draw: number; readonly seed: string },
): { readonly schedule: Schedule; readonly asked: ProbeSeed | null } => {
  const asksOther = record.chunk.events.some(({ type }) => type === 'alternative')
  const followed = advanceOpenProbe(
    asksOther ? { ...schedule, alternative: true } : schedule,
    record,
    random.draw,
  )
  const at = record.receivedAt
  if (
    followed.open ||
    followed.done >= followed.of ||
    record.chunk.last ||
    at < followed.dueAt - earlyToleranceMs
  )
    return { schedule: followed, asked: null }
  const probe: ProbeSeed = { kind: followed.alternative ? 'choose' : 'point', seed: random.seed }
  return { schedule: { ...followed, open: { probe, askedAt: at, records: [] } }, asked: probe }
}
