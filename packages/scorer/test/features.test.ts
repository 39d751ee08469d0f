import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { STROKE_FEATURES, strokeFeatures, toWindows, WINDOW_FEATURES } from '../src/features.ts'
import { type MotionPoint, toRuns, toStrokes } from '../src/index.ts'
import { straightRecording, wobblyRecording } from './traces.ts'

const at = (name: (typeof STROKE_FEATURES)[number]) => STROKE_FEATURES.indexOf(name)
const featuresOf = (points: readonly MotionPoint[]) => toStrokes(points).map(strokeFeatures)

const line = (from: number, count: number, step: number): MotionPoint[] =>
  Array.from({ length: count }, (_, index) => ({
    t: from + 16 * index,
    x: step * index,
    y: 0,
    type: 'move',
  }))

test('a stroke ends at a pause, at a button and at the end, and must be long enough', () => {
  assert.equal(toStrokes(line(0, 10, 10)).length, 1)
  assert.equal(toStrokes(line(0, 7, 20)).length, 0, 'seven points are too few')
  assert.equal(toStrokes(line(0, 10, 6)).length, 0, '54 px are too short')
  assert.equal(toStrokes(line(0, 200, 5)).length, 0, 'more than 2.5 s is not one stroke')
  assert.equal(toStrokes([...line(0, 10, 10), ...line(1_000, 10, 10)]).length, 2)
  assert.equal(
    toStrokes([...line(0, 10, 10), { t: 150, x: 90, y: 0, type: 'down' }, ...line(160, 10, 10)]).length,
    2,
  )
})

test('points that go back in time or are no numbers change nothing', () => {
  const clean = wobblyRecording(7, 3)
  const dirty = clean.flatMap((point, index) =>
    index % 5 === 2 && point.type === 'move'
      ? [
          point,
          { ...point, t: point.t - 3, x: 9_999 },
          { ...point, t: Number.NaN },
          { ...point, x: Infinity },
        ]
      : [point],
  )
  assert.ok(dirty.length > clean.length)
  assert.deepEqual(featuresOf(dirty), featuresOf(clean))
})

test('the features do not depend on where the clock begins, nor on where the window stands', () => {
  const points = wobblyRecording(11, 4)
  const shift = fc.integer({ min: -4_000, max: 4_000 })
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 40 }), shift, shift, (t, x, y) => {
      const moved = points.map((point) => ({ ...point, t: point.t + t, x: point.x + x, y: point.y + y }))
      assert.deepEqual(featuresOf(moved), featuresOf(points))
    }),
    { numRuns: 50 },
  )
})

test('every feature is a number, whatever the points are', () => {
  const step = fc.record({
    t: fc.integer({ min: 0, max: 45 }),
    x: fc.integer({ min: -20, max: 40 }),
    y: fc.integer({ min: -30, max: 30 }),
    type: fc.constantFrom(
      ...Array.from({ length: 20 }, () => 'move' as const),
      'down' as const,
      'up' as const,
    ),
  })
  let seen = 0
  fc.assert(
    fc.property(fc.array(step, { minLength: 40, maxLength: 120 }), (steps) => {
      let [t, x, y] = [0, 0, 0]
      const points = steps.map((next) => {
        ;[t, x, y] = [t + next.t, x + next.x, y + next.y]
        return { t, x, y, type: next.type }
      })
      const features = featuresOf(points)
      seen += features.length
      for (const stroke of features) {
        assert.equal(stroke.length, STROKE_FEATURES.length)
        assert.ok(stroke.every(Number.isFinite))
      }
      for (const window of toWindows(features, 1)) assert.equal(window.length, WINDOW_FEATURES.length)
    }),
    { numRuns: 200 },
  )
  assert.ok(seen > 100, `only ${seen} strokes were made`)
})

test('a straight line at one speed has no turns, one direction and equal steps', () => {
  const [stroke = []] = featuresOf(straightRecording(1))
  assert.equal(stroke[at('turn_spread')]?.toFixed(1), '0.0')
  assert.ok((stroke[at('straightness')] ?? 0) > 0.999)
  assert.ok((stroke[at('speed_variation')] ?? 1) < 0.05)
  assert.ok((stroke[at('deflection')] ?? 1) < 0.01)
  const [wobbly = []] = featuresOf(wobblyRecording(3, 1))
  assert.ok((wobbly[at('turn_spread')] ?? 0) > 0.1)
  assert.ok((wobbly[at('speed_variation')] ?? 0) > 0.3)
})

test('a window holds at least its seconds of motion, and strokes are used once', () => {
  const strokes = featuresOf(wobblyRecording(5, 40))
  for (const seconds of [1, 3, 10]) {
    const windows = toWindows(strokes, seconds)
    const used = windows.map((window) => window.at(-1) ?? 0).reduce((sum, count) => sum + count, 0)
    assert.ok(windows.length > 0 && used <= strokes.length)
  }
  assert.deepEqual(toWindows([], 1), [])
})

test('the runs keep the recorded points as they came', () => {
  const points = wobblyRecording(9, 3)
  const runs = toRuns(points)
  assert.equal(runs.length, 3)
  const moves = points.filter(({ type }) => type === 'move').map(({ t, x, y }) => ({ t, x, y }))
  assert.deepEqual(runs.flat(), moves)
})
