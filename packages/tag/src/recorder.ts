import { telemetryLimits, type PointerKind } from '@pohf/protocol/telemetry'

/**
 * Limits of pending bytes, estimated high: above the first, motion is dropped; above the second, everything but answers.
 * A chunk then stays below 65,536 bytes.
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
 * first receipt. They never decrease: a browser dispatches input a little after it happened.
 */
export class Recorder {
  #pending: PendingEvent[] = []
  #t0 = 0
  #clock = 0
  #bytes = 0
  #lost = 0

  #tick(t: number): number {
    return (this.#clock = Math.max(this.#clock, Math.round(t)))
  }
  #isOver(max: number): boolean {
    return this.#bytes > max || this.#pending.length >= telemetryLimits.eventsPerChunk - 100
  }
  #push(tag: string, t: number, ...fields: unknown[]): void {
    const at = this.#tick(t)
    this.#pending.push({ tag, t: at, end: at, fields })
    this.#bytes += eventBytes
  }
  #pushOrDrop(tag: string, t: number, ...fields: unknown[]): void {
    if (this.#isOver(allBytesMax)) this.#lost += 1
    else this.#push(tag, t, ...fields)
  }

  #openRun({ how, trusted }: PointerSource, more: number): Run | undefined {
    const { run } = this.#pending.at(-1) ?? {}
    return run?.pointer === how &&
      run.trusted === trusted &&
      run.points + more <= telemetryLimits.pointsPerRun &&
      run.dispatched < 10_000
      ? run
      : undefined
  }
  #beginRun({ how, trusted }: PointerSource, first: Point): Run {
    const t = this.#tick(first.t)
    const [x, y] = [clampCoordinate(first.x), clampCoordinate(first.y)]
    const run = { pointer: how, trusted, dispatched: 0, x, y, points: 1, flat: [x, y] }
    this.#pending.push({ tag: 'm', t, end: t, fields: [], run })
    this.#bytes += eventBytes + pointBytes
    return run
  }
  #extend(run: Run, point: Point): void {
    const event = this.#pending.at(-1)
    if (!event) return
    const t = this.#tick(point.t)
    const [x, y] = [clampCoordinate(point.x), clampCoordinate(point.y)]
    run.flat.push(t - event.end, x - run.x, y - run.y)
    run.x = x
    run.y = y
    run.points += 1
    event.end = t
    this.#bytes += pointBytes
  }
  /** The points of one dispatched event. A run of motion continues until another event. */
  move(by: PointerSource, dispatched: readonly Point[]): void {
    const points = dispatched.slice(-telemetryLimits.pointsPerRun)
    const [first, ...others] = points
    if (this.#isOver(motionBytesMax)) this.#lost += dispatched.length
    else if (first) {
      const open = this.#openRun(by, points.length)
      const run = open ?? this.#beginRun(by, first)
      run.dispatched += 1
      for (const point of open ? points : others) this.#extend(run, point)
    }
  }

  /** Whether a chunk should be sent early, so that nothing is dropped. */
  isFilling(): boolean {
    return this.#isOver(motionBytesMax / 2)
  }
  /** Everything since the last cut, as the times and events of a chunk. */
  cut(now: number): { t0: number; t1: number; ev: unknown[] } {
    const t1 = this.#tick(now)
    let at = this.#t0
    const ev = this.#pending.map(({ tag, t, end, fields, run }) => {
      const step = t - at
      at = end
      return run
        ? [tag, step, run.pointer, bit(run.trusted), run.dispatched, run.flat]
        : [tag, step, ...fields]
    })
    if (this.#lost > 0) ev.push(['l', t1 - at, Math.min(this.#lost, 1_000_000)])
    const chunk = { t0: this.#t0, t1, ev }
    this.#pending = []
    this.#t0 = t1
    this.#bytes = 0
    this.#lost = 0
    return chunk
  }

  press(tag: 'd' | 'u', by: PointerSource, { t, x, y }: Point): void {
    this.#pushOrDrop(tag, t, by.how, bit(by.trusted), clampCoordinate(x), clampCoordinate(y))
  }
  click(t: number, by: AnswerSource): void {
    this.#pushOrDrop('c', t, by.how, bit(by.trusted))
  }
  key(t: number, phase: 'd' | 'u', navigates: boolean, trusted: boolean): void {
    this.#pushOrDrop('k', t, phase, bit(navigates), bit(trusted))
  }
  scroll(t: number, dy: number): void {
    this.#pushOrDrop('s', t, clampRounded(dy, 1_000_000))
  }
  focus(t: number, visible: boolean, focused: boolean, share: number): void {
    this.#pushOrDrop('f', t, bit(visible), bit(focused), Math.max(0, clampRounded(share, 100)))
  }
  honeypot(t: number): void {
    this.#pushOrDrop('h', t)
  }
  // Requests for and answers to probes are never dropped; the caller records one of each for a probe.
  shown(t: number, probe: string): void {
    this.#push('o', t, probe)
  }
  /** `x`: the person asks for questions in words; `q`: is ready for a question. */
  pushRequest(t: number, tag: 'x' | 'q' = 'x'): void {
    this.#push(tag, t)
  }
  point(probe: string, by: PointerSource, { t, x, y }: Point): void {
    this.#push('a', t, probe, by.how, bit(by.trusted), clampCoordinate(x), clampCoordinate(y))
  }
  choose(t: number, probe: string, by: AnswerSource, choice: number): void {
    this.#push('b', t, probe, by.how, bit(by.trusted), choice)
  }
}
