import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { calibrate, type ConsentedSession } from '../src/calibrate.ts'

const session = (person: number, p: number | null, motionSeconds = 10): ConsentedSession => ({
  person: `person ${person}`,
  motion: { motionSeconds, strokes: 9, p, synthetic: false },
})
const crowd = (count: number, pOf: (index: number) => number | null) =>
  Array.from({ length: count }, (_, index) => session(index % 6, pOf(index)))

test('too few people, sessions or motion are refused, with what is missing', () => {
  const alone = Array.from({ length: 50 }, () => session(1, 0.9))
  for (const sessions of [[], alone, crowd(19, () => 0.9), crowd(60, () => null)]) {
    const result = calibrate(sessions)
    assert.ok(result.type === 'refused' && result.reason.includes('at least 20 of 5'))
  }
  const still = Array.from({ length: 60 }, (_, index) => session(index % 6, 0.9, 2.9))
  assert.equal(calibrate(still).type, 'refused')
})

test('none of the people it was measured on falls below the threshold', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 1_000 }), { minLength: 24, maxLength: 80 }), (values) => {
      const sessions = crowd(values.length, (index) => (values[index] ?? 0) / 1_000)
      const result = calibrate(sessions)
      assert.ok(result.type === 'calibrated')
      assert.equal(result.people, 6)
      for (const { motion } of sessions) assert.ok(Math.max(0.0005, motion.p ?? 0) >= result.calibration.pMin)
    }),
    { numRuns: 500 },
  )
})

const thresholdAround = (center: number): number => {
  const result = calibrate(crowd(60, (index) => center + ((index % 7) - 3) * 0.02))
  assert.ok(result.type === 'calibrated')
  return result.calibration.pMin
}
test('a setting in which the model trusts people less gets a lower threshold', () => {
  assert.ok(thresholdAround(0.3) < thresholdAround(0.6))
  assert.ok(thresholdAround(0.6) < thresholdAround(0.9))
  assert.ok(thresholdAround(0.9) > 0.5)
})
