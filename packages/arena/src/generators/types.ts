import type { Random } from '../random.ts'

export type Point = { readonly x: number; readonly y: number }

/** A place in CSS pixels at a time in milliseconds since the stroke began. */
export type TimedPoint = { readonly t: number; readonly x: number; readonly y: number }

/** Makes one stroke between two places. All its chance comes from `random`. */
export type Generator = (random: Random, from: Point, to: Point) => TimedPoint[]

/** Recorded human strokes that an attacker owns. Two points at least in each. */
export type StrokeLibrary = readonly (readonly TimedPoint[])[]

export const distance = (from: Point, to: Point): number => Math.hypot(to.x - from.x, to.y - from.y)

/** Width of the target in pixels, as people are asked to hit it. */
export const targetWidth = 44

/** Fitts' index of difficulty in bits for a target of the usual width. */
export const difficulty = (length: number): number => Math.log2(length / targetWidth + 1)

/** Minimum-jerk position on [0, 1]. */
export const minimumJerk = (s: number): number => s * s * s * (10 - 15 * s + 6 * s * s)

/** A point on a cubic Bezier curve. */
export const onCurve = (curve: readonly [Point, Point, Point, Point], s: number): Point => {
  const [a, b, c, d] = curve
  const rest = 1 - s
  const [wa, wb, wc, wd] = [rest ** 3, 3 * rest * rest * s, 3 * rest * s * s, s ** 3]
  return { x: wa * a.x + wb * b.x + wc * c.x + wd * d.x, y: wa * a.y + wb * b.y + wc * c.y + wd * d.y }
}
