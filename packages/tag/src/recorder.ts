import { telemetryLimits, type PointerKind } from '@pohf/protocol/telemetry'

/**
 * Pending bytes, estimated on the safe side: from the first on motion is dropped, from the second on everything but
 * answers. A chunk then stays below its 65,536 bytes.
 */
const motionBytesMax = 28_000
const allBytesMax = 44_000
const pointBytes = 13
const eventBytes = 32

type Point = { readonly t: number; readonly x: number; readonly y: number }
export type PointerSource = { readonly how: PointerKind; readonly trusted: boolean }
export type AnswerSource = { readonly how: PointerKind | 'k'; readonly trusted: boolean }

type Run = {
  readonly pointer: PointerKind
  readonly trusted: boolean
  dispatched: number
  x: number
  y: number
  points: number
  readonly flat: number[]
}
type PendingEvent = {
  readonly tag: string
  readonly t: number
  end: number
  readonly fields: readonly unknown[]
  readonly run?: Run
}

const bit = (value: boolean): 0 | 1 => (value ? 1 : 0)
const clampRounded = (value: number, max: number): number => Math.max(-max, Math.min(max, Math.round(value)))
/** Half of what the protocol allows, so that a step from one edge to the other still fits. */
const clampCoordinate = (value: number): number => clampRounded(value, 50_000)

/**
 * Events between two chunks, in order and bounded, in the form in which they are sent. Times are milliseconds since the
 * first receipt. They never run back: a browser hands input over a little after it happened.
 */
export const makeRecorder = () => {
  let pending: PendingEvent[] = []
  let t0 = 0
  let clock = 0
  let bytes = 0
  let lost = 0

  const tick = (t: number): number => (clock = Math.max(clock, Math.round(t)))
  const push = (tag: string, t: number, ...fields: unknown[]): void => {
    const at = tick(t)
    pending.push({ tag, t: at, end: at, fields })
    bytes += eventBytes
  }
  const isOver = (max: number): boolean =>
    bytes > max || pending.length >= telemetryLimits.eventsPerChunk - 100
  const pushOrDrop = (tag: string, t: number, ...fields: unknown[]): void => {
    if (isOver(allBytesMax)) lost += 1
    else push(tag, t, ...fields)
  }

  const openRun = ({ how, trusted }: PointerSource, more: number) => {
    const { run } = pending.at(-1) ?? {}
    return run?.pointer === how &&
      run.trusted === trusted &&
      run.points + more <= telemetryLimits.pointsPerRun &&
      run.dispatched < 10_000
      ? run
      : undefined
  }
  const beginRun = ({ how, trusted }: PointerSource, first: Point): Run => {
    const t = tick(first.t)
    const [x, y] = [clampCoordinate(first.x), clampCoordinate(first.y)]
    const run = { pointer: how, trusted, dispatched: 0, x, y, points: 1, flat: [x, y] }
    pending.push({ tag: 'm', t, end: t, fields: [], run })
    bytes += eventBytes + pointBytes
    return run
  }
  const extend = (run: Run, point: Point): void => {
    const event = pending.at(-1)
    if (!event) return
    const t = tick(point.t)
    const [x, y] = [clampCoordinate(point.x), clampCoordinate(point.y)]
    run.flat.push(t - event.end, x - run.x, y - run.y)
    run.x = x
    run.y = y
    run.points += 1
    event.end = t
    bytes += pointBytes
  }

  return {
    /** The points of one dispatched event. A run of motion goes on until something else happens. */
    move: (by: PointerSource, given: readonly Point[]): void => {
      const points = given.slice(-telemetryLimits.pointsPerRun)
      const [first, ...others] = points
      if (isOver(motionBytesMax)) lost += given.length
      else if (first) {
        const open = openRun(by, points.length)
        const run = open ?? beginRun(by, first)
        run.dispatched += 1
        for (const point of open ? points : others) extend(run, point)
      }
    },
    press: (tag: 'd' | 'u', by: PointerSource, { t, x, y }: Point): void =>
      pushOrDrop(tag, t, by.how, bit(by.trusted), clampCoordinate(x), clampCoordinate(y)),
    click: (t: number, by: AnswerSource): void => pushOrDrop('c', t, by.how, bit(by.trusted)),
    key: (t: number, phase: 'd' | 'u', navigates: boolean, trusted: boolean): void =>
      pushOrDrop('k', t, phase, bit(navigates), bit(trusted)),
    scroll: (t: number, dy: number): void => pushOrDrop('s', t, clampRounded(dy, 1_000_000)),
    focus: (t: number, visible: boolean, focused: boolean, share: number): void =>
      pushOrDrop('f', t, bit(visible), bit(focused), Math.max(0, clampRounded(share, 100))),
    honeypot: (t: number): void => pushOrDrop('h', t),
    // What asks for or answers a probe is never dropped; the caller gives one of each for a probe.
    alternative: (t: number): void => push('x', t),
    shown: (t: number, probe: string): void => push('o', t, probe),
    point: (probe: string, by: PointerSource, { t, x, y }: Point): void =>
      push('a', t, probe, by.how, bit(by.trusted), clampCoordinate(x), clampCoordinate(y)),
    choose: (t: number, probe: string, by: AnswerSource, choice: number): void =>
      push('b', t, probe, by.how, bit(by.trusted), choice),
    /** Whether a chunk should go before its time, so that nothing need be dropped. */
    isFilling: (): boolean => isOver(motionBytesMax / 2),
    /** Everything since the cut before, as the times and events of a chunk. */
    cut: (now: number): { t0: number; t1: number; ev: unknown[] } => {
      const t1 = tick(now)
      let at = t0
      const ev = pending.map(({ tag, t, end, fields, run }) => {
        const step = t - at
        at = end
        return run
          ? [tag, step, run.pointer, bit(run.trusted), run.dispatched, run.flat]
          : [tag, step, ...fields]
      })
      if (lost > 0) ev.push(['l', t1 - at, Math.min(lost, 1_000_000)])
      const chunk = { t0, t1, ev }
      pending = []
      t0 = t1
      bytes = 0
      lost = 0
      return chunk
    },
  }
}
export type Recorder = ReturnType<typeof makeRecorder>
