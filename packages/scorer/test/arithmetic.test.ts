import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { angle, correlation, deviation, exponential, ln, logistic, mean } from '../src/arithmetic.ts'

const near = (actual: number, expected: number, tolerance = 4e-16) =>
  assert.ok(
    Math.abs(actual - expected) <= tolerance * Math.max(1, Math.abs(expected)),
    `${actual} is not ${expected}`,
  )

test('our logarithm agrees with the built-in one to the last bits', () => {
  fc.assert(
    fc.property(fc.double({ min: 5e-324, max: 1.7e308, noNaN: true }), (value) =>
      near(ln(value), Math.log(value)),
    ),
  )
  assert.equal(ln(1), 0)
})

test('our exponential agrees with the built-in one', () => {
  fc.assert(
    fc.property(fc.double({ min: -690, max: 690, noNaN: true }), (value) => {
      const expected = Math.exp(value)
      assert.ok(Math.abs(exponential(value) - expected) <= 1e-14 * expected)
    }),
  )
  assert.equal(exponential(0), 1)
  assert.equal(exponential(-1e9), 0)
  assert.ok(Number.isFinite(exponential(1e9)))
})

test('our angle agrees with the built-in one, in every quadrant and on the axes', () => {
  const side = fc.oneof(fc.integer({ min: -3, max: 3 }), fc.double({ min: -1e4, max: 1e4, noNaN: true }))
  fc.assert(
    fc.property(side, side, (y, x) => {
      // The sign of a zero is no direction of a pointer.
      if (y === 0) return
      near(angle(y, x), Math.atan2(y, x))
    }),
  )
  assert.equal(angle(0, 0), 0)
  near(angle(0, -1), Math.PI)
})

test('the logistic stays between 0 and 1 and rises', () => {
  fc.assert(
    fc.property(
      fc.double({ min: -800, max: 800, noNaN: true }),
      fc.double({ min: 0, max: 50, noNaN: true }),
      (at, by) => {
        const [low, high] = [logistic(at), logistic(at + by)]
        assert.ok(low >= 0 && high <= 1 && low <= high + 1e-15)
      },
    ),
  )
  assert.equal(logistic(0), 0.5)
})

test('mean, deviation and correlation are 0 and not NaN for too few or constant values', () => {
  assert.equal(mean([]), 0)
  assert.equal(deviation([3]), 0)
  assert.equal(correlation([1, 2, 3], [1, 2, 3]), 0)
  assert.equal(correlation([1, 1, 1, 1, 1], [1, 2, 3, 4, 5]), 0)
  near(correlation([1, 2, 3, 4, 5], [2, 4, 6, 8, 10]), 1)
})
