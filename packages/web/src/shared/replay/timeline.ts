import { probeOutcomes, type ProbeOutcome, type ReadRecord } from '@pohf/protocol/probes'
import {
  readChunk,
  type TelemetryEnvironment,
  type TelemetryEvent,
  type TelemetryRecord,
} from '@pohf/protocol/telemetry'

export type Point = { readonly t: number; readonly x: number; readonly y: number }
export type Span = { readonly from: number; readonly to: number }
export type Question = {
  readonly n: number
  readonly result: ProbeOutcome['result']
  readonly shownAt: number | null
  readonly answeredAt: number | null
  readonly reactionMs: number | null
  /** Where the pointer pressed, in the window; null where words were chosen. */
  readonly at: Point | null
}

/** The events of a session's records, in order of time. */
export type SessionTimeline = {
  readonly durationMs: number
  readonly environment: TelemetryEnvironment | null
  readonly path: readonly (readonly Point[])[]
  readonly presses: readonly Point[]
  readonly keys: readonly number[]
  readonly scrolls: readonly number[]
  readonly inView: readonly Span[]
  readonly moving: readonly Span[]
  readonly questions: readonly Question[]
  readonly lost: number
}

const inViewOf = (events: readonly TelemetryEvent[], ms: number): Span[] => {
  const spans: Span[] = []
  let since: number | null = null
  for (const event of events) {
    if (event.type !== 'focus') continue
    const isIn = event.visible && event.focused
    if (isIn && since === null) since = event.t
    if (!isIn && since !== null) {
      spans.push({ from: since, to: event.t })
      since = null
    }
  }
  return since === null ? spans : [...spans, { from: since, to: ms }]
}

const lastBefore = (points: readonly Point[], t: number): Point | null =>
  points.findLast((point) => point.t <= t + 1) ?? null

/** Undefined where a record holds no chunk of v1. */
export const buildTimeline = (records: readonly TelemetryRecord[]): SessionTimeline | undefined => {
  const read: ReadRecord[] = []
  for (const record of records) {
    const chunk = readChunk(record.chunk)
    if (!chunk) return undefined
    read.push({ chunk, receivedAt: record.receivedAt, after: record.after })
  }
  const events = read.flatMap(({ chunk }) => chunk.events)
  const ms = read.at(-1)?.chunk.t1 ?? 0
  const runs = events.flatMap((event) => (event.type === 'motion' ? [event.points] : []))
  const presses = events.flatMap((event) =>
    event.type === 'down' ? [{ t: event.t, x: event.x, y: event.y }] : [],
  )
  return {
    durationMs: ms,
    environment: read[0]?.chunk.environment ?? null,
    path: runs,
    presses,
    keys: events.flatMap((event) => (event.type === 'key' && event.phase === 'down' ? [event.t] : [])),
    scrolls: events.flatMap((event) => (event.type === 'scroll' ? [event.t] : [])),
    inView: inViewOf(events, ms),
    moving: runs.map((points) => ({ from: points[0]?.t ?? 0, to: points.at(-1)?.t ?? 0 })),
    questions: probeOutcomes(read).map(({ probe, result, shownAt, reactionMs }, index) => {
      const answeredAt = shownAt === null || reactionMs === null ? null : shownAt + reactionMs
      return {
        n: index + 1,
        result,
        shownAt,
        answeredAt,
        reactionMs,
        at: answeredAt === null || probe.kind !== 'point' ? null : lastBefore(presses, answeredAt),
      }
    }),
    lost: events.reduce((sum, event) => sum + (event.type === 'lost' ? event.count : 0), 0),
  }
}
