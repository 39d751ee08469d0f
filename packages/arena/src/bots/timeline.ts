import type { TelemetryEvent } from '@pohf/protocol/telemetry'
import type { Point, TimedPoint } from '../generators/types.ts'

type DiscreteEvent = Exclude<TelemetryEvent, { readonly type: 'motion' }>
type Entry =
  { readonly t: number; readonly point: Point } | { readonly t: number; readonly event: DiscreteEvent }

const runMax = 500

/** The events of a simulated person, planned ahead on the session's clock and taken out as time passes. */
export const createTimeline = (start: Point) => {
  let entries: Entry[] = []
  let position = start
  return {
    /** Plans a stroke; its points' times count from `at`. */
    move(at: number, stroke: readonly TimedPoint[]): void {
      for (const { t, x, y } of stroke) entries.push({ t: Math.round(at + t), point: { x, y } })
    },
    plan(event: DiscreteEvent): void {
      entries.push({ t: event.t, event })
    },
    /** Forgets motion planned after `t`: the person has seen something else. Gives the place where the hand stops. */
    stop(t: number): Point {
      entries = entries.filter((entry) => 'event' in entry || entry.t <= t)
      const last = entries
        .filter((entry) => 'point' in entry)
        .toSorted((a, b) => a.t - b.t)
        .at(-1)
      return last?.point ?? position
    },
    /** Takes out what has happened up to `t1`, points joined into runs. */
    take(t1: number): TelemetryEvent[] {
      const past = entries.filter((entry) => entry.t <= t1).toSorted((a, b) => a.t - b.t)
      entries = entries.filter((entry) => entry.t > t1)
      const events: TelemetryEvent[] = []
      let run: TimedPoint[] = []
      const close = () => {
        const first = run[0]
        if (first)
          events.push({
            type: 'motion',
            t: first.t,
            pointer: 'm',
            trusted: true,
            dispatched: run.length,
            points: run,
          })
        run = []
      }
      for (const entry of past) {
        if ('event' in entry) {
          close()
          events.push(entry.event)
          continue
        }
        if (entry.point.x === position.x && entry.point.y === position.y) continue
        position = entry.point
        run.push({ t: entry.t, ...entry.point })
        if (run.length === runMax) close()
      }
      close()
      return events
    },
  }
}
