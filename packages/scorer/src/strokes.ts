// From a recording to strokes: runs of movement between pauses and button events, on one grid of 60 Hz and whole
// pixels, so that how a browser happened to sample says nothing about who moved.
import { length } from './arithmetic.ts'

export type MotionPoint = {
  /** Milliseconds from any origin. */
  readonly t: number
  readonly x: number
  readonly y: number
  readonly type: 'move' | 'down' | 'up'
}

/** A stroke on the common grid, from its first point on. The steps between its samples are 1/60 s. */
export type Stroke = {
  readonly x: readonly number[]
  readonly y: readonly number[]
  readonly seconds: number
}

type Sample = { readonly t: number; readonly x: number; readonly y: number }

export const SAMPLES_PER_SECOND = 60
const PAUSE_MS = 150
const POINTS_MIN = 8
const DISTANCE_PX_MIN = 60
const PATH_PX_MIN = 30
const DURATION_MS_MAX = 2_500
const SAMPLES_MIN = 6
/** About 2 hours of events at 60 Hz; what comes after is not read. */
const POINTS_MAX = 500_000
/** No screen is wider. A coordinate beyond it is not a pointer's. */
const COORDINATE_MAX = 100_000

function isUsable(point: MotionPoint): boolean {
  return (
    Number.isFinite(point.t) && Math.abs(point.x) <= COORDINATE_MAX && Math.abs(point.y) <= COORDINATE_MAX
  )
}

/** Splits a recording, oldest point first, into strokes on the common grid. */
export function toStrokes(points: readonly MotionPoint[]): Stroke[] {
  return toRuns(points).flatMap((run) => toStroke(run) ?? [])
}

/** The recorded points of each stroke, as they came; points that go back in time are left out. */
export function toRuns(points: readonly MotionPoint[]): Sample[][] {
  const runs: Sample[][] = []
  let run: Sample[] = []
  const close = () => {
    if (isStroke(run)) runs.push(run)
    run = []
  }
  for (let index = 0; index < Math.min(points.length, POINTS_MAX); index += 1) {
    const point = points[index]
    if (!point || !isUsable(point)) continue
    const last = run.at(-1)
    if (last && (point.type !== 'move' || point.t - last.t > PAUSE_MS)) close()
    if (point.type !== 'move') continue
    const before = run.at(-1)
    if (before && point.t <= before.t) continue
    run.push({ t: point.t, x: point.x, y: point.y })
  }
  close()
  return runs
}

function isStroke(run: readonly Sample[]): boolean {
  const first = run[0]
  const last = run.at(-1)
  if (!first || !last || run.length < POINTS_MIN) return false
  if (last.t - first.t > DURATION_MS_MAX) return false
  return length(last.x - first.x, last.y - first.y) >= DISTANCE_PX_MIN
}

function toStroke(run: readonly Sample[]): Stroke | undefined {
  const first = run[0]
  const last = run.at(-1)
  if (!first || !last) return undefined
  const stroke = resample(run, first, last)
  if (stroke.x.length < SAMPLES_MIN) return undefined
  let path = 0
  for (let index = 1; index < stroke.x.length; index += 1) {
    path += length(
      (stroke.x[index] ?? 0) - (stroke.x[index - 1] ?? 0),
      (stroke.y[index] ?? 0) - (stroke.y[index - 1] ?? 0),
    )
  }
  return path < PATH_PX_MIN ? undefined : stroke
}

function resample(run: readonly Sample[], first: Sample, last: Sample): Stroke {
  const count = Math.floor(((last.t - first.t) * SAMPLES_PER_SECOND) / 1_000) + 1
  const x: number[] = []
  const y: number[] = []
  let at = 0
  for (let sample = 0; sample < count; sample += 1) {
    // From the first point on, so that neither the origin of the clock nor that of the page reaches the bits.
    const elapsed = (sample * 1_000) / SAMPLES_PER_SECOND
    while (at < run.length - 2 && (run[at + 1] ?? last).t - first.t <= elapsed) at += 1
    const left = run[at] ?? first
    const right = run[at + 1] ?? last
    const share = Math.min(1, (elapsed - (left.t - first.t)) / (right.t - left.t))
    x.push(Math.round(left.x - first.x + (right.x - left.x) * share))
    y.push(Math.round(left.y - first.y + (right.y - left.y) * share))
  }
  return { x, y, seconds: (count - 1) / SAMPLES_PER_SECOND }
}
