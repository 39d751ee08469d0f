// Writes the events of a chunk as docs/reference/telemetry.md says, from events with times since the session began.
import type { TelemetryEnvironment, TelemetryEvent } from '@pohf/protocol/telemetry'

type Wire = readonly (string | number | readonly number[])[]

const bit = (value: boolean): number => (value ? 1 : 0)

const fieldsOf = (event: TelemetryEvent): Wire => {
  switch (event.type) {
    case 'motion': {
      const [first, ...rest] = event.points
      const flat = [first?.x ?? 0, first?.y ?? 0]
      let before = first ?? { t: event.t, x: 0, y: 0 }
      for (const point of rest) {
        flat.push(point.t - before.t, point.x - before.x, point.y - before.y)
        before = point
      }
      return [event.pointer, bit(event.trusted), event.dispatched, flat]
    }
    case 'down':
    case 'up':
      return [event.pointer, bit(event.trusted), event.x, event.y]
    case 'click':
      return [event.how, bit(event.trusted)]
    case 'key':
      return [event.phase === 'down' ? 'd' : 'u', bit(event.navigates), bit(event.trusted)]
    case 'scroll':
      return [event.dy]
    case 'focus':
      return [bit(event.visible), bit(event.focused), event.share]
    case 'shown':
      return [event.probe]
    case 'point':
      return [event.probe, event.how, bit(event.trusted), event.x, event.y]
    case 'choose':
      return [event.probe, event.how, bit(event.trusted), event.choice]
    case 'lost':
      return [event.count]
    case 'honeypot':
    case 'alternative':
    case 'ask':
      return []
  }
}

const tags = {
  motion: 'm',
  down: 'd',
  up: 'u',
  click: 'c',
  key: 'k',
  scroll: 's',
  focus: 'f',
  honeypot: 'h',
  alternative: 'x',
  ask: 'q',
  shown: 'o',
  point: 'a',
  choose: 'b',
  lost: 'l',
} as const satisfies Record<TelemetryEvent['type'], string>

const endOf = (event: TelemetryEvent): number =>
  event.type === 'motion' ? (event.points.at(-1)?.t ?? event.t) : event.t

export type ChunkParts = {
  readonly seq: number
  readonly receipt: string
  readonly t0: number
  readonly t1: number
  readonly environment: TelemetryEnvironment | null
  readonly events: readonly TelemetryEvent[]
  readonly last: { readonly n: number; readonly ms: number } | null
}

/** The text of a chunk. Events must be in order of time, none before `t0` or after `t1`. */
export const writeChunk = (parts: ChunkParts): string => {
  let clock = parts.t0
  const ev = parts.events.map((event) => {
    const wire = [tags[event.type], event.t - clock, ...fieldsOf(event)]
    clock = endOf(event)
    return wire
  })
  return JSON.stringify({
    v: 1,
    seq: parts.seq,
    receipt: parts.receipt,
    t0: parts.t0,
    t1: parts.t1,
    ...(parts.environment ? { env: parts.environment } : {}),
    ev,
    ...(parts.last ? { last: parts.last } : {}),
  })
}
