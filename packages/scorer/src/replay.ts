// Recognises a stroke that was recorded before. Where a stroke goes and how fast it gets there is described by 18
// numbers that do not change when it is moved, turned, enlarged or played faster. Their unit is the noise that an
// attacker with 1 px of jitter and 10 % of time warp adds, so equal distances mean equal chances.
import { length } from './arithmetic.ts'
import fitted from './models/replay-2026.11.json' with { type: 'json' }

type Sample = { readonly t: number; readonly x: number; readonly y: number }

/** The fitted numbers, as `npx node tools/evaluation/run-replay.ts --fit` writes them. */
export type ReplayModel = {
  readonly version: string
  /** The ordinary stroke of people, before whitening. */
  readonly center: readonly number[]
  /** Rows: whitens the noise, then turns so that the first coordinates tell people's strokes apart best. */
  readonly rotation: readonly (readonly number[])[]
  /** Strokes closer than this to the ordinary one are alike in everybody and say nothing. */
  readonly informativeFrom: number
  /** Two strokes closer than this are the same recording. */
  readonly radius: number
}

/** The model that is in force. */
export const replayModel: ReplayModel = fitted

/** 18 whole numbers of two bytes; one unit of noise is 16. */
export type ReplayDescriptor = Int16Array

const POINTS = 32
const SHAPE_TERMS = 6
const LAW_TERMS = 6
const SIZE = 2 * SHAPE_TERMS + LAW_TERMS
const UNIT = 16
/** A step shorter than this is as much jitter as motion: it must not add to the length of the path. */
const RULER_PX = 6
/** On a shorter path one pixel of jitter hides the shape. */
const PATH_PX_MIN = 300
/** A path that comes back to where it began has no direction to be turned by. */
const CHORD_SHARE_MIN = 0.5
const VERTICES_MIN = 4
const VERTICES_MAX = 5_000

/** cos(n π / 64) by halving angles and the addition theorem: only + - * / and the square root, the same bits anywhere. */
const cosines = (() => {
  let step = 0
  for (let halving = 0; halving < 5; halving += 1) step = Math.sqrt((1 + step) / 2)
  const table = [1, step]
  for (let n = 2; n < 128; n += 1) table.push(2 * step * (table[n - 1] ?? 0) - (table[n - 2] ?? 0))
  return table
})()

/** The n-th term of the cosine transform of 32 values. */
function term(values: readonly number[], n: number): number {
  let sum = 0
  for (let index = 0; index < POINTS; index += 1) {
    sum += (values[index] ?? 0) * (cosines[((2 * index + 1) * n) % 128] ?? 0)
  }
  return sum / 4
}

function simplifyPath(run: readonly Sample[]): Sample[] {
  const vertices: Sample[] = []
  for (const [index, sample] of run.slice(0, VERTICES_MAX).entries()) {
    const before = vertices.at(-1)
    const far = !before || length(sample.x - before.x, sample.y - before.y) >= RULER_PX
    if (far || index === run.length - 1) vertices.push(sample)
  }
  return vertices
}

/** A stroke read at 32 places that are equally far apart along its path, with the share of time gone at each. */
export type ResampledStroke = {
  readonly x: readonly number[]
  readonly y: readonly number[]
  readonly law: readonly number[]
}

/** Reads a run of recorded points; undefined where it is too short or too winding to be distinguished from others. */
export function resampleStroke(run: readonly Sample[]): ResampledStroke | undefined {
  const vertices = simplifyPath(run)
  const first = vertices[0]
  const last = vertices.at(-1)
  if (!first || !last || vertices.length < VERTICES_MIN || last.t <= first.t) return undefined
  const lengths = [0]
  for (let index = 1; index < vertices.length; index += 1) {
    const [from, to] = [vertices[index - 1] ?? first, vertices[index] ?? last]
    lengths.push((lengths[index - 1] ?? 0) + length(to.x - from.x, to.y - from.y))
  }
  const path = lengths.at(-1) ?? 0
  if (path < PATH_PX_MIN || length(last.x - first.x, last.y - first.y) < CHORD_SHARE_MIN * path)
    return undefined
  const [x, y, law]: [number[], number[], number[]] = [[], [], []]
  let at = 0
  for (let point = 0; point < POINTS; point += 1) {
    const place = (path * point) / (POINTS - 1)
    while (at < vertices.length - 2 && (lengths[at + 1] ?? 0) <= place) at += 1
    const [left, right] = [vertices[at] ?? first, vertices[at + 1] ?? last]
    const [begin, end] = [lengths[at] ?? 0, lengths[at + 1] ?? 0]
    const share = end > begin ? Math.min(1, (place - begin) / (end - begin)) : 1
    x.push(left.x + (right.x - left.x) * share)
    y.push(left.y + (right.y - left.y) * share)
    law.push((left.t + (right.t - left.t) * share - first.t) / (last.t - first.t))
  }
  return { x, y, law }
}

/** The 18 numbers before whitening: shape relative to the main direction, then the time law. */
export function rawDescriptor(stroke: ResampledStroke): number[] {
  const [mainX, mainY] = [term(stroke.x, 1), term(stroke.y, 1)]
  const square = mainX * mainX + mainY * mainY
  const [along, across]: [number[], number[]] = [[], []]
  for (let n = 2; n < 2 + SHAPE_TERMS; n += 1) {
    const [x, y] = [term(stroke.x, n), term(stroke.y, n)]
    along.push(square > 0 ? (x * mainX + y * mainY) / square : 0)
    across.push(square > 0 ? (y * mainX - x * mainY) / square : 0)
  }
  const residue = stroke.law.map((share, index) => share - index / (POINTS - 1))
  return [...along, ...across, ...Array.from({ length: LAW_TERMS }, (_, n) => term(residue, n))]
}

/** Whitens and rounds; undefined for a stroke that is too ordinary to be recognised. */
export function whitenDescriptor(raw: readonly number[], model: ReplayModel): ReplayDescriptor | undefined {
  const descriptor = new Int16Array(SIZE)
  let square = 0
  for (let row = 0; row < SIZE; row += 1) {
    let value = 0
    for (let column = 0; column < SIZE; column += 1) {
      value += (model.rotation[row]?.[column] ?? 0) * ((raw[column] ?? 0) - (model.center[column] ?? 0))
    }
    square += value * value
    descriptor[row] = Math.max(-32_768, Math.min(32_767, Math.round(value * UNIT)))
  }
  return square < model.informativeFrom * model.informativeFrom ? undefined : descriptor
}

/** Describes a run of recorded points; undefined where it could be anybody's. */
export function describeStroke(run: readonly Sample[], model: ReplayModel): ReplayDescriptor | undefined {
  const stroke = resampleStroke(run)
  return stroke && whitenDescriptor(rawDescriptor(stroke), model)
}

/** The distance between two descriptors in units of noise. */
export function strokeDistance(left: ReplayDescriptor, right: ReplayDescriptor): number {
  let sum = 0
  for (let index = 0; index < SIZE; index += 1) {
    const rest = (left[index] ?? 0) - (right[index] ?? 0)
    sum += rest * rest
  }
  return Math.sqrt(sum) / UNIT
}

const CELL_COORDINATES = 6
const CELLS_MIN = -128
const CELLS_MAX = 127

const cellAt = (value: number, width: number) =>
  Math.max(CELLS_MIN, Math.min(CELLS_MAX, Math.floor(value / width))) - CELLS_MIN

/**
 * The cell of a grid over the first six coordinates in which a descriptor is stored: a whole number below 2^48. Cells
 * are two radii wide, so all that lies within the radius is in at most 2^6 cells. Nothing near is ever missed.
 */
export function replayCell(descriptor: ReplayDescriptor, model: ReplayModel): number {
  const width = 2 * model.radius * UNIT
  let cell = 0
  for (let index = 0; index < CELL_COORDINATES; index += 1) {
    cell = cell * 256 + cellAt(descriptor[index] ?? 0, width)
  }
  return cell
}

/** Every cell that can hold a descriptor within the radius: at most 64, about a dozen as a rule. */
export function replayCellsNear(descriptor: ReplayDescriptor, model: ReplayModel): number[] {
  const radius = model.radius * UNIT
  const width = 2 * radius
  let near: { readonly cell: number; readonly square: number }[] = [{ cell: 0, square: 0 }]
  for (let index = 0; index < CELL_COORDINATES; index += 1) {
    const value = descriptor[index] ?? 0
    const home = cellAt(value, width)
    const steps = [{ cell: home, gap: 0 }]
    const toLower = value - (home + CELLS_MIN) * width
    const toUpper = width - toLower
    if (toLower <= radius && home > 0) steps.push({ cell: home - 1, gap: Math.max(0, toLower) })
    if (toUpper <= radius && home < CELLS_MAX - CELLS_MIN)
      steps.push({ cell: home + 1, gap: Math.max(0, toUpper) })
    near = near.flatMap(({ cell, square }) =>
      steps
        .map((step) => ({ cell: cell * 256 + step.cell, square: square + step.gap * step.gap }))
        .filter((found) => found.square <= radius * radius),
    )
  }
  return near.map(({ cell }) => cell)
}

/** The rate at which an innocent informative stroke lies within the radius of a stored one, by the model's fit. */
const INNOCENT_STROKE_RATE = 0.001
/** How often an innocent session may be taken for a replay. */
const INNOCENT_SESSION_RATE = 0.0001

/** How many of so many informative strokes must be found before chance is ruled out: 2 of 8, 3 from 15 on. */
export function replayMatchesNeeded(informative: number): number {
  let exactly = 1
  for (let index = 0; index < informative; index += 1) exactly *= 1 - INNOCENT_STROKE_RATE
  let atLeast = 1 - exactly
  for (let count = 1; count <= informative; count += 1) {
    if (count >= 2 && atLeast <= INNOCENT_SESSION_RATE) return count
    exactly *= ((informative - count + 1) / count) * (INNOCENT_STROKE_RATE / (1 - INNOCENT_STROKE_RATE))
    atLeast -= exactly
  }
  return Math.max(2, informative + 1)
}

/** Whether a session is a replay, from how many of its informative strokes were found among the stored ones. */
export function isReplay(strokes: { readonly informative: number; readonly matched: number }): boolean {
  return strokes.matched >= replayMatchesNeeded(strokes.informative)
}

/** Stored strokes in memory: the same cells as a database would index. */
export function createReplayIndex(model: ReplayModel) {
  const heads = new Map<number, number>()
  let next = new Int32Array(1_024)
  let stored = new Int16Array(1_024 * SIZE)
  let size = 0
  return {
    get size() {
      return size
    },
    add(descriptor: ReplayDescriptor): void {
      if (size === next.length) {
        const [moreNext, moreStored] = [new Int32Array(2 * size), new Int16Array(2 * size * SIZE)]
        moreNext.set(next)
        moreStored.set(stored)
        ;[next, stored] = [moreNext, moreStored]
      }
      const cell = replayCell(descriptor, model)
      stored.set(descriptor, size * SIZE)
      next[size] = heads.get(cell) ?? -1
      heads.set(cell, size)
      size += 1
    },
    /** The nearest stored stroke within the radius: its number in order of arrival, and how many were compared. */
    find(descriptor: ReplayDescriptor): { nearest: number | undefined; distance: number; compared: number } {
      let [nearest, least, compared]: [number | undefined, number, number] = [
        undefined,
        (model.radius * UNIT) ** 2,
        0,
      ]
      for (const cell of replayCellsNear(descriptor, model)) {
        for (let at = heads.get(cell) ?? -1; at >= 0; at = next[at] ?? -1) {
          compared += 1
          let sum = 0
          for (let index = 0; index < SIZE && sum <= least; index += 1) {
            const rest = (descriptor[index] ?? 0) - (stored[at * SIZE + index] ?? 0)
            sum += rest * rest
          }
          if (sum <= least) [nearest, least] = [at, sum]
        }
      }
      return { nearest, distance: Math.sqrt(least) / UNIT, compared }
    },
  }
}
