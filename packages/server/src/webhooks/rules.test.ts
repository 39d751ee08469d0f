import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { outcomeOf } from './delivery/rules.ts'
import {
  bodyOf,
  isFailingTooLong,
  circuitOpenMsAfter,
  readCursor,
  initialPosition,
  retryDelayMsAfter,
  planMonitoring,
  explainAttempt,
  writeCursor,
} from './rules.ts'

const at = new Date('2026-03-01T00:00:00Z')
const failed = { status: 500, retryAfter: undefined }
const hourMs = 3_600_000

test('nine waits follow the first attempt, each within a tenth of its plan, then no more', () => {
  const plannedSeconds = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400]
  for (const [index, seconds] of plannedSeconds.entries()) {
    assert.equal(retryDelayMsAfter(index + 1, failed, { at, fraction: 0.5 }), seconds * 1_000)
    assert.equal(retryDelayMsAfter(index + 1, failed, { at, fraction: 0 }), seconds * 900)
  }
  assert.equal(retryDelayMsAfter(10, failed, { at, fraction: 0.5 }), undefined)
  assert.equal(retryDelayMsAfter(11, { fault: 'timeout' }, { at, fraction: 0.5 }), undefined)
})

const wait = (retryAfter: string, attempt = 1) =>
  retryDelayMsAfter(attempt, { status: 503, retryAfter }, { at, fraction: 0.5 })

test('a receiver may ask for more time, never for less and never for more than a day', () => {
  assert.equal(wait('3600'), hourMs)
  assert.equal(wait('1'), 5_000)
  assert.equal(wait('1', 9), 24 * hourMs)
  assert.equal(wait('99999999'), 24 * hourMs)
  assert.equal(wait('Sun, 01 Mar 2026 02:00:00 GMT'), 2 * hourMs)
  assert.equal(wait('Sat, 28 Feb 2026 02:00:00 GMT'), 5_000)
  assert.equal(wait('Fri, 01 Mar 2030 02:00:00 GMT'), 24 * hourMs)
})

test('whatever a receiver writes into Retry-After, the wait stays between 4.5 s and 26.4 h', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 9 }),
      fc.oneof(fc.string(), fc.integer().map(String), fc.date({ noInvalidDate: true }).map(String)),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (attempt, retryAfter, fraction) => {
        const wait = retryDelayMsAfter(attempt, { status: 429, retryAfter }, { at, fraction })
        assert.ok(wait !== undefined && wait >= 4_500 && wait <= 26.4 * hourMs)
      },
    ),
    { numRuns: 2_000 },
  )
})

test('only 2xx is success, only 410 ends the subscription', () => {
  for (let status = 100; status < 600; status++) {
    const expected = status >= 200 && status < 300 ? 'delivered' : status === 410 ? 'gone' : 'failed'
    assert.equal(outcomeOf({ status, retryAfter: undefined }), expected)
  }
  assert.equal(outcomeOf({ fault: 'timeout' }), 'failed')
})

const envelope = (text: string) => ({
  id: 'evt_1',
  type: 'a.b',
  timestamp: at.toISOString(),
  test: false,
  apiVersion: '1.0.0',
  agentId: 'agt_1',
  data: { text },
})

test('an event above 20 KB is announced without its data', () => {
  const small = envelope('x'.repeat(20_000))
  assert.equal(bodyOf(small), JSON.stringify(small))
  // Bytes count, not characters.
  const large = bodyOf(envelope('é'.repeat(15_000)))
  assert.deepEqual(JSON.parse(large), { ...envelope(''), data: {} })
})

test('five days without a success are too long, a moment less is not', () => {
  const days = 5 * 24 * hourMs
  assert.equal(isFailingTooLong(at, new Date(at.getTime() + days)), true)
  assert.equal(isFailingTooLong(at, new Date(at.getTime() + days - 1)), false)
})

const open = (failures: number) => circuitOpenMsAfter(failures, failed, at) / 1_000
const openWithRetryAfter = (seconds: string) =>
  circuitOpenMsAfter(1, { status: 429, retryAfter: seconds }, at) / 1_000

test('the circuit breaker opens at the third failure, twice as long each time, at most five minutes', () => {
  assert.deepEqual([1, 2, 3, 4, 5, 8, 9, 1_000].map(open), [0, 0, 5, 10, 20, 160, 300, 300])
  assert.deepEqual(['30', '86400', 'soon'].map(openWithRetryAfter), [30, 3_600, 0])
})

const after = (hours: number) => new Date(at.getTime() + hours * hourMs)

const planAt = (hours: number, lastFailure: number, notices: number) => {
  const due = planMonitoring({ failingSince: at, lastFailureAt: after(lastFailure), notices }, after(hours))
  return [due.noticeHours, due.notices, due.probe, (due.nextAt.getTime() - at.getTime()) / hourMs]
}

test('the owner of a failing endpoint is notified after an hour and a day, and it is probed a day after its last attempt and at the end', () => {
  assert.deepEqual(planAt(0.5, 0.5, 0), [undefined, 0, false, 1])
  assert.deepEqual(planAt(1, 0.6, 0), [1, 1, false, 24])
  assert.deepEqual(planAt(24, 17, 1), [24, 2, false, 41])
  // A worker that was away tells the worse news only.
  assert.deepEqual(planAt(30, 17, 0), [24, 2, false, 41])
  assert.deepEqual(planAt(41, 17, 2), [undefined, 2, true, 65])
  assert.deepEqual(planAt(100, 75, 2), [undefined, 2, true, 120])
  assert.deepEqual(planAt(120, 100, 2), [undefined, 2, true, 121])
})

test('a cursor is read back as it was written, and nothing else is accepted as one', () => {
  const position = { at: '2026-03-01T00:00:00.123456Z', eventId: 'evt_aa01' }
  assert.deepEqual(readCursor(writeCursor(position)), position)
  const start = initialPosition(at, at)
  assert.deepEqual(readCursor(writeCursor(start)), start)
  assert.ok(start.at < '2026-03-01' && start.at > '2026-02-28T23:59:59.99')
  fc.assert(fc.property(fc.string(), (text) => assert.equal(readCursor(text), undefined)))
  fc.assert(
    fc.property(fc.json(), (text) =>
      assert.equal(readCursor(Buffer.from(text).toString('base64url')), undefined),
    ),
  )
})

test('every failure has an explanation, and a success has none', () => {
  for (let status = 200; status < 300; status++) assert.equal(explainAttempt({ status, fault: null }), null)
  for (let status = 300; status < 600; status++)
    assert.match(explainAttempt({ status, fault: null }) ?? '', /^[A-Z].*\.$|pohf webhooks verify$|\?$/)
  for (const fault of ['timeout', 'ECONNREFUSED', 'address_refused', 'whatever', null])
    assert.match(explainAttempt({ status: null, fault }) ?? '', /^[A-Z].*[.?]$/)
})
