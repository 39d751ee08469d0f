import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { splitAtNearestHours, splitByDays, type Part, type Span } from './hours.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const start = Date.parse('2026-03-28T00:00:00Z')
const minutes = 5 * 24 * 60

const isIn = ({ from, to }: Span, at: number): number =>
  Number(at >= from.getTime() && (to === null || at < to.getTime()))

/** How often each minute of five days is counted. */
const countMinutes = (spans: readonly Span[], parts: readonly Part[]): number[] =>
  Array.from({ length: minutes }, (_, minute) => {
    const at = start + minute * minuteMs
    const whole = spans.reduce((sum, span) => sum + isIn(span, at), 0)
    return parts.reduce((sum, part) => sum + part.sign * isIn(part, at), whole)
  })

const anySpan = fc
  .tuple(
    fc.integer({ min: 0, max: minutes }),
    fc.option(fc.integer({ min: 0, max: minutes }), { nil: undefined }),
  )
  .map(([first, second]): Span => {
    const [from, to] = second === undefined ? [first] : [Math.min(first, second), Math.max(first, second)]
    return {
      from: new Date(start + from * minuteMs),
      to: to === undefined ? null : new Date(start + to * minuteMs),
    }
  })

const lengthOf = ({ from, to }: Part): number => to.getTime() - from.getTime()

test('whole hours and parts count each minute of a span once, and rows of at most half an hour at each end', () => {
  fc.assert(
    fc.property(anySpan, (span) => {
      const expected = countMinutes([span], [])
      const { whole, parts } = splitAtNearestHours(span)
      assert.deepEqual(countMinutes(whole ? [whole] : [], parts), expected)
      assert.ok(
        parts.every((part) => lengthOf(part) <= (whole ? hourMs / 2 : hourMs)),
        JSON.stringify(parts),
      )
      const { days, hours, parts: rest } = splitByDays(span)
      assert.deepEqual(countMinutes(days ? [days, ...hours] : hours, rest), expected)
    }),
    { numRuns: 300 },
  )
})
