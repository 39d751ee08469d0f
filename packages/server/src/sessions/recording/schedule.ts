import { probeOutcomes, probeWindows, type ReadRecord } from '@pohf/protocol/probes'

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
}

const probesMin = 3
const hitsMin = 2
/** After too few hits: three more. */
const probesAfterStepUp = 6
const probeSpacingMs = 2_000
const firstProbeDelayMs = 1_000
const meanDelayMs = 2_000
const delayMsMax = 10_000
/** Round trip over a slow connection, after the window itself. */
const deliveryMs = 3_000
/** A chunk this little too early still gets its probe. */
const earlyToleranceMs = 100
/** Records that `probeOutcomes` considers for one probe. */
const recordsMax = 12

const nextMsRange = { min: 200, max: 2_500, open: 1_000, idle: 2_000 } as const

/** Exponential: the time already waited does not predict the remaining time. `draw` is uniform in [0, 1). */
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

/** When the next chunk should arrive: soon while a probe is open, else when the next one is due. */
export const nextChunkDelayMs = (schedule: Schedule, at: number): number => {
  if (schedule.open) return nextMsRange.open
  if (schedule.done >= schedule.of) return nextMsRange.idle
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
  // A person who asks for word probes cannot answer this one: it is withdrawn and counts neither as hit nor as
  // miss.
  if (schedule.alternative && open.probe.kind === 'point')
    return { ...schedule, dueAt: Math.max(at, open.askedAt + probeSpacingMs), open: null }
  const isOver =
    at - open.askedAt > toMs + deliveryMs ||
    (shownAt !== null && record.chunk.t1 - shownAt > toMs) ||
    records.length >= recordsMax
  return isOver ? settleProbe(schedule, false, at, draw) : { ...schedule, open: { ...open, records } }
}

/** Advances the schedule by one record: settles the open probe and opens the next one when it is due. */
export const advanceSchedule = (
  schedule: Schedule,
  record: ReadRecord,
  random: { readonly draw: number; readonly seed: string },
): { readonly schedule: Schedule; readonly opened: ProbeSeed | null } => {
  const asksOther = record.chunk.events.some(({ type }) => type === 'alternative')
  const advanced = advanceOpenProbe(
    asksOther ? { ...schedule, alternative: true } : schedule,
    record,
    random.draw,
  )
  const at = record.receivedAt
  if (
    advanced.open ||
    advanced.done >= advanced.of ||
    record.chunk.last ||
    at < advanced.dueAt - earlyToleranceMs
  )
    return { schedule: advanced, opened: null }
  const probe: ProbeSeed = { kind: advanced.alternative ? 'choose' : 'point', seed: random.seed }
  return { schedule: { ...advanced, open: { probe, askedAt: at, records: [] } }, opened: probe }
}
