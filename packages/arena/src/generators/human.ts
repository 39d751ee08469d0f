// Strokes that a person once made, moved to where the attacker wants them. The library comes from the caller.
import { gaussian, pick, type Random, uniform } from '../random.ts'
import { distance, type Generator, type Point, type StrokeLibrary, type TimedPoint } from './types.ts'

type RecordedStroke = { readonly points: readonly TimedPoint[]; readonly length: number }

const ends = (points: readonly TimedPoint[]): readonly [TimedPoint, TimedPoint] => {
  const [first, last] = [points[0], points.at(-1)]
  if (!first || !last) throw new RangeError('a stroke of the library is empty')
  return [first, last]
}

/** Strokes sorted by how far they go; those that return to where they began cannot be aimed. */
const measureStrokes = (library: StrokeLibrary): RecordedStroke[] => {
  const strokes = library
    .map((points) => ({ points, length: points.length > 1 ? distance(...ends(points)) : 0 }))
    .filter((stroke) => stroke.length >= 1)
  if (strokes.length < 2)
    throw new RangeError('the stroke library needs at least two strokes of 1 px or more between their ends')
  return strokes
}

const strokesNearLength = (
  strokes: readonly RecordedStroke[],
  length: number,
  range: readonly [number, number],
): readonly RecordedStroke[] => {
  const near = strokes.filter(
    (stroke) => stroke.length > length * range[0] && stroke.length < length * range[1],
  )
  return near.length > 1 ? near : strokes
}

/** One recorded stroke, turned and scaled to lead from here to there, with 0.3 px of noise. */
export const strokeReplay = (library: StrokeLibrary): Generator => {
  const strokes = measureStrokes(library)
  return (random, from, to) => {
    const length = distance(from, to)
    const chosen = pick(random, strokesNearLength(strokes, length, [0.7, 1.4]))
    const [first, last] = ends(chosen.points)
    const turn = Math.atan2(to.y - from.y, to.x - from.x) - Math.atan2(last.y - first.y, last.x - first.x)
    const scale = length / chosen.length
    const [cos, sin] = [Math.cos(turn) * scale, Math.sin(turn) * scale]
    return chosen.points.map(({ t, x, y }) => ({
      t: t - first.t,
      x: Math.round(from.x + (x - first.x) * cos - (y - first.y) * sin + gaussian(random) * 0.3),
      y: Math.round(from.y + (x - first.x) * sin + (y - first.y) * cos + gaussian(random) * 0.3),
    }))
  }
}

type NormalisedStroke = { readonly durationMs: number; readonly points: readonly Point[] }

/** Places along and across the line between the ends, at equal times about 8 ms apart. */
const normalise = ({ points, length }: RecordedStroke): NormalisedStroke => {
  const [first, last] = ends(points)
  const durationMs = last.t - first.t
  const [dx, dy] = [last.x - first.x, last.y - first.y]
  const count = Math.max(8, Math.round(durationMs / 8))
  let before = 0
  return {
    durationMs,
    points: Array.from({ length: count + 1 }, (_, index) => {
      const t = first.t + (durationMs * index) / count
      while (before < points.length - 2 && (points[before + 1]?.t ?? Infinity) < t) before += 1
      const a = points[before] ?? first
      const b = points[before + 1] ?? last
      const share = b.t > a.t ? (t - a.t) / (b.t - a.t) : 0
      const [x, y] = [a.x + (b.x - a.x) * share - first.x, a.y + (b.y - a.y) * share - first.y]
      return { x: (x * dx + y * dy) / length ** 2, y: (y * dx - x * dy) / length ** 2 }
    }),
  }
}

const at = ({ points }: NormalisedStroke, s: number): Point => {
  const place = s * (points.length - 1)
  const index = Math.min(points.length - 2, Math.floor(place))
  const a = points[index] ?? { x: 0, y: 0 }
  const b = points[index + 1] ?? a
  return { x: a.x + (b.x - a.x) * (place - index), y: a.y + (b.y - a.y) * (place - index) }
}

const blend = (
  random: Random,
  [one, other]: readonly [NormalisedStroke, NormalisedStroke],
  ends: readonly [Point, Point],
) => {
  const weight = uniform(random, 0.3, 0.7)
  const [from, to] = ends
  const durationMs = one.durationMs * weight + other.durationMs * (1 - weight)
  const count = Math.max(2, Math.round(durationMs / 8))
  return Array.from({ length: count + 1 }, (_, index): TimedPoint => {
    const s = index / count
    const [u, v] = [at(one, s), at(other, s)]
    const along = u.x * weight + v.x * (1 - weight)
    const across = u.y * weight + v.y * (1 - weight)
    return {
      t: durationMs * s,
      x: from.x + (to.x - from.x) * along - (to.y - from.y) * across,
      y: from.y + (to.y - from.y) * along + (to.x - from.x) * across,
    }
  })
}

/** A blend of two recorded strokes: as human as both, equal to neither. The open problem of the field. */
export const strokeMorph = (library: StrokeLibrary): Generator => {
  const strokes = measureStrokes(library)
  return (random, from, to) => {
    const near = strokesNearLength(strokes, distance(from, to), [0.6, 1.6])
    return blend(random, [normalise(pick(random, near)), normalise(pick(random, near))], [from, to])
  }
}
