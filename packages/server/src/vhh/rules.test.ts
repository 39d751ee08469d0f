import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { assess, dueMonths, hoursAvailable, leadMonths, monthOf, premiumPct, totalUsdCents } from './rules.ts'

test('the first month published is the last one, over the turn of a year too', () => {
  assert.deepEqual(dueMonths(undefined, new Date('2026-01-01T00:00:00Z')), ['2025-12'])
  assert.deepEqual(dueMonths(undefined, new Date('2026-12-31T23:59:59Z')), ['2026-11'])
})

test('a month is due 24 hours after its end, to the millisecond', () => {
  assert.deepEqual(dueMonths('2025-11', new Date('2026-01-01T23:59:59.999Z')), [])
  assert.deepEqual(dueMonths('2025-11', new Date('2026-01-02T00:00:00Z')), ['2025-12'])
  assert.deepEqual(dueMonths('2025-11', new Date('2026-03-02T00:00:00Z')), ['2025-12', '2026-01', '2026-02'])
  assert.deepEqual(dueMonths('2026-05', new Date('2026-03-02T00:00:00Z')), [])
})

const instant = fc.date({ min: new Date('2000-01-01'), max: new Date('2200-01-01'), noInvalidDate: true })
test('published as they fall due, months follow each other without a gap and none comes twice', () => {
  fc.assert(
    fc.property(instant, fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 20 }), (start, days) => {
      const published = dueMonths(undefined, start)
      let now = start.getTime()
      for (const wait of days) {
        now += wait * 86_400_000
        published.push(...dueMonths(published.at(-1), new Date(now)))
      }
      for (const [n, month] of published.entries()) {
        const before = published[n - 1]
        if (before !== undefined) assert.equal(leadMonths(new Date(`${before}-15T00:00:00Z`), month), 1)
        assert.ok(month < monthOf(new Date(now)))
      }
    }),
  )
})

const hours = fc.double({ min: 0.01, max: 1e7, noNaN: true })
const lead = fc.integer({ min: -24, max: 36 })
test('the premium is 0 to 50 per cent, never falls with more hours and never rises with more notice', () => {
  fc.assert(
    fc.property(hours, hours, lead, fc.nat({ max: 1_000_000 }), (ordered, more, notice, available) => {
      const premium = premiumPct({ hours: ordered, available, lead: notice })
      assert.ok(premium >= 0 && premium <= 50)
      assert.ok(premiumPct({ hours: ordered + more, available, lead: notice }) >= premium)
      assert.ok(premiumPct({ hours: ordered, available, lead: notice + 1 }) <= premium)
    }),
  )
})

test('a month that is over has nothing to offer, whatever the setting', () => {
  fc.assert(
    fc.property(hours, fc.nat(), fc.integer({ min: -1_000, max: -1 }), (ordered, capacity, notice) => {
      assert.equal(assess(ordered, hoursAvailable(capacity, 0, notice)), 'beyond')
    }),
  )
})

test('a price is in whole cents and never below the index price; no value, no price', () => {
  fc.assert(
    fc.property(
      fc.nat({ max: 100_000 }),
      hours,
      fc.integer({ min: 0, max: 50 }),
      (cents, ordered, premium) => {
        const total = totalUsdCents(BigInt(cents), ordered, premium)
        assert.ok(total !== null && Number(total) >= Math.floor(cents * ordered) - 1)
        assert.equal(totalUsdCents(null, ordered, premium), null)
      },
    ),
  )
})
