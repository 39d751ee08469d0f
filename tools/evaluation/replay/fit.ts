// Fits the replay detector: the noise of an attacker who disguises a stroke, the spread of people, and the radius within
// which two strokes are one. Only users 1 to 60 are looked at.
import { createRandom, disguise, type Random } from '../../../packages/arena/src/index.ts'
import {
  whitenDescriptor,
  rawDescriptor,
  type ResampledStroke,
  resampleStroke,
  type ReplayDescriptor,
  type ReplayModel,
  strokeDistance,
  toRuns,
} from '../../../packages/scorer/src/index.ts'
import type { Session } from '../data.ts'
import { cholesky, quantile } from '../motion/fit.ts'

type Run = ReturnType<typeof toRuns>[number]
export type PersonStroke = { readonly user: number; readonly session: number; readonly run: Run }

export function collectStrokes(humans: readonly Session[]): PersonStroke[] {
  return humans.flatMap(({ user, points }, session) =>
    user === null ? [] : toRuns(points).map((run) => ({ user, session, run })),
  )
}

/** Moved to begin at 0 and end at 1, so that two strokes can be blended place by place. */
function normaliseEndpoints(stroke: ResampledStroke): ResampledStroke {
  const [x0, y0] = [stroke.x[0] ?? 0, stroke.y[0] ?? 0]
  const [dx, dy] = [(stroke.x.at(-1) ?? 0) - x0, (stroke.y.at(-1) ?? 0) - y0]
  const square = dx * dx + dy * dy
  const place = (index: number): [number, number] => [
    (stroke.x[index] ?? 0) - x0,
    (stroke.y[index] ?? 0) - y0,
  ]
  return {
    x: stroke.x.map((_, index) => (place(index)[0] * dx + place(index)[1] * dy) / square),
    y: stroke.x.map((_, index) => (place(index)[1] * dx - place(index)[0] * dy) / square),
    law: stroke.law,
  }
}

/** Endless strokes nobody made, each a blend of two real ones, half of them mirrored: they fill an index. */
export function createFillerStrokes(strokes: readonly PersonStroke[], model: ReplayModel, seed: number) {
  const random: Random = createRandom(seed)
  const sources = strokes.flatMap(({ run }) => resampleStroke(run) ?? []).map(normaliseEndpoints)
  const pick = () => sources[Math.floor(random() * sources.length)] ?? { x: [], y: [], law: [] }
  return (): ReplayDescriptor => {
    for (let attempt = 0; attempt < 10_000; attempt += 1) {
      const [one, other, weight, side] = [pick(), pick(), 0.3 + 0.4 * random(), random() < 0.5 ? 1 : -1]
      const blend = (left: readonly number[], right: readonly number[], sign: number) =>
        left.map((value, index) => sign * (value * weight + (right[index] ?? 0) * (1 - weight)))
      const raw = rawDescriptor({
        x: blend(one.x, other.x, 1),
        y: blend(one.y, other.y, side),
        law: blend(one.law, other.law, 1),
      })
      const descriptor = whitenDescriptor(raw, model)
      if (descriptor) return descriptor
    }
    throw new Error(`no informative blend of ${sources.length} strokes in 10,000 attempts`)
  }
}

type Matrix = Float64Array[]
const zeros = (size: number): Matrix => Array.from({ length: size }, () => new Float64Array(size))

function covariance(rows: readonly (readonly number[])[], size: number): Matrix {
  const result = zeros(size)
  for (const row of rows)
    for (const [left, line] of result.entries())
      for (let right = 0; right < size; right += 1)
        line[right] = (line[right] ?? 0) + ((row[left] ?? 0) * (row[right] ?? 0)) / rows.length
  return result
}

const apply = (matrix: readonly (readonly number[])[], vector: readonly number[]): number[] =>
  matrix.map((line) => vector.reduce((sum, value, index) => sum + value * (line[index] ?? 0), 0))

/** The inverse of a lower triangle. */
function invertTriangle(factor: Matrix): number[][] {
  const size = factor.length
  const columns = Array.from({ length: size }, (_, column) => {
    const solved = new Float64Array(size)
    for (let row = 0; row < size; row += 1) {
      let rest = row === column ? 1 : 0
      for (let before = 0; before < row; before += 1)
        rest -= (factor[row]?.[before] ?? 0) * (solved[before] ?? 0)
      solved[row] = rest / (factor[row]?.[row] ?? 1)
    }
    return solved
  })
  return Array.from({ length: size }, (_, row) => columns.map((column) => column[row] ?? 0))
}

/** Eigenvectors of a symmetric matrix by Jacobi's rotations, the greatest eigenvalue first. */
function eigenvectors(symmetric: Matrix): number[][] {
  const size = symmetric.length
  const a = symmetric.map((line) => Float64Array.from(line))
  const vectors = zeros(size)
  for (const [index, line] of vectors.entries()) line[index] = 1
  const get = (matrix: Matrix, row: number, column: number) => matrix[row]?.[column] ?? 0
  const turn = (matrix: Matrix, p: number, q: number, [cos, sin]: readonly [number, number]) => {
    for (const line of matrix) {
      const [left, right] = [line[p] ?? 0, line[q] ?? 0]
      line[p] = cos * left - sin * right
      line[q] = sin * left + cos * right
    }
  }
  const transpose = (matrix: Matrix): Matrix =>
    matrix.map((_, row) => Float64Array.from(matrix, (line) => line[row] ?? 0))
  let current: Matrix = a
  for (let sweep = 0; sweep < 30; sweep += 1)
    for (let p = 0; p < size - 1; p += 1)
      for (let q = p + 1; q < size; q += 1) {
        if (Math.abs(get(current, p, q)) < 1e-12) continue
        const angle = 0.5 * Math.atan2(2 * get(current, p, q), get(current, q, q) - get(current, p, p))
        const rotation = [Math.cos(angle), Math.sin(angle)] as const
        turn(current, p, q, rotation)
        current = transpose(current)
        turn(current, p, q, rotation)
        turn(vectors, p, q, rotation)
      }
  return Array.from({ length: size }, (_, index) => index)
    .toSorted((left, right) => get(current, right, right) - get(current, left, left))
    .map((column) => Array.from(vectors, (line) => line[column] ?? 0))
}

const norm = (vector: readonly number[]) => Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0))
const median = (values: readonly number[]) =>
  quantile(
    values.toSorted((a, b) => a - b),
    0.5,
  )

/** Leaves out the tenth with the largest values, which would widen the unit for all others. */
function trim(rows: readonly number[][]): number[][] {
  const size = rows[0]?.length ?? 0
  const scale = Array.from(
    { length: size },
    (_, at) => median(rows.map((row) => Math.abs(row[at] ?? 0))) || 1,
  )
  const measured = rows.map((row) => ({ row, size: norm(row.map((value, at) => value / (scale[at] ?? 1))) }))
  const limit = quantile(
    measured.map(({ size }) => size).toSorted((a, b) => a - b),
    0.9,
  )
  return measured.filter(({ size }) => size <= limit).map(({ row }) => row)
}

type Halves = readonly {
  readonly queries: readonly PersonStroke[]
  readonly sources: readonly PersonStroke[]
}[]

/** The radius at which `rate` of people's strokes would find a stranger's among `size`, read off the lowest 3 %. */
function calibrateRadius(model: ReplayModel, halves: Halves, size: number, rate: number): number {
  const nearest: number[] = []
  for (const [seed, { queries, sources }] of halves.entries()) {
    const filler = createFillerStrokes(sources, model, 900 + seed)
    const descriptors = queries
      .flatMap(({ run }) => resampleStroke(run) ?? [])
      .flatMap((stroke) => whitenDescriptor(rawDescriptor(stroke), model) ?? [])
    const best = descriptors.map(() => Infinity)
    for (let count = 0; count < size; count += 1) {
      const stranger = filler()
      for (const [index, descriptor] of descriptors.entries()) {
        const cap = (best[index] ?? Infinity) * 16
        const first = (descriptor[0] ?? 0) - (stranger[0] ?? 0)
        const second = (descriptor[1] ?? 0) - (stranger[1] ?? 0)
        if (first * first + second * second >= cap * cap) continue
        best[index] = Math.min(best[index] ?? Infinity, strokeDistance(descriptor, stranger))
      }
    }
    nearest.push(...best)
  }
  const tail = nearest.toSorted((a, b) => a - b).slice(0, Math.ceil(nearest.length * 0.03))
  // A straight line through the tail on logarithmic scales: rate = c * radius^slope.
  const rows = tail.map(
    (radius, rank) => [Math.log(radius), Math.log((rank + 0.5) / nearest.length)] as const,
  )
  const [meanX, meanY] = [0, 1].map((at) => rows.reduce((sum, row) => sum + (row[at] ?? 0), 0) / rows.length)
  const top = rows.reduce((sum, [x, y]) => sum + (x - (meanX ?? 0)) * (y - (meanY ?? 0)), 0)
  const slope = top / rows.reduce((sum, [x]) => sum + (x - (meanX ?? 0)) ** 2, 0)
  return Math.exp((meanX ?? 0) + (Math.log(rate) - (meanY ?? 0)) / slope)
}

export type FitOptions = { readonly version: string; readonly size: number; readonly rate: number }

/** Fits the whole model on users 1 to 60; the radius for an index of `size` strokes. */
export function fitReplay(strokes: readonly PersonStroke[], options: FitOptions): ReplayModel {
  const training = strokes.filter(({ user }) => user <= 60)
  const random = createRandom(42)
  const raws: number[][] = []
  const noises: number[][] = []
  for (const { run } of training) {
    const stroke = resampleStroke(run)
    const again = resampleStroke(disguise(random, run, { jitterPx: 1, warp: 0.1, turns: true }))
    if (!stroke || !again) continue
    const [raw, changed] = [rawDescriptor(stroke), rawDescriptor(again)]
    raws.push(raw)
    noises.push(changed.map((value, at) => value - (raw[at] ?? 0)))
  }
  const size = raws[0]?.length ?? 0
  const center = Array.from({ length: size }, (_, at) => median(raws.map((row) => row[at] ?? 0)))
  const whiten = invertTriangle(cholesky(covariance(trim(noises), size)))
  const whitened = raws.map((row) =>
    apply(
      whiten,
      row.map((value, at) => value - (center[at] ?? 0)),
    ),
  )
  const axes = eigenvectors(covariance(trim(whitened), size))
  const rotation = axes.map((axis) =>
    Array.from({ length: size }, (_, column) =>
      axis.reduce((sum, value, row) => sum + value * (whiten[row]?.[column] ?? 0), 0),
    ),
  )
  const model: ReplayModel = {
    version: options.version,
    center,
    rotation,
    informativeFrom: median(whitened.map(norm)),
    radius: 1,
  }
  const early = training.filter(({ user }) => user <= 30)
  const late = training.filter(({ user }) => user > 30)
  const halves = [
    { queries: early, sources: late },
    { queries: late, sources: early },
  ]
  return { ...model, radius: calibrateRadius(model, halves, options.size, options.rate) }
}
