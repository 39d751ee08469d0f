import assert from 'node:assert/strict'
import { test } from 'node:test'
import { probeOutcomes, type ReadRecord } from '@pohf/protocol/probes'
import { readChunk, type TelemetryEvent } from '@pohf/protocol/telemetry'

const truth = (id: string) =>
  ({ id, kind: 'point', x: 50, y: 50, radius: 22, fromMs: 250, toMs: 2_500 }) as const
type RecordInput = {
  readonly t: number
  readonly probe?: string
  readonly events?: readonly TelemetryEvent[]
}
/** Records whose server time and page time run together; `probe` is what the receipt before asked for. */
const recordsOf = (made: readonly RecordInput[]): ReadRecord[] =>
  made.map(({ t, probe, events = [] }, index) => ({
    receivedAt: t,
    after: { at: made[index - 1]?.t ?? 0, token: 't', probe: probe === undefined ? null : truth(probe) },
    chunk: { seq: index + 1, receipt: 't', t0: 0, t1: t, environment: null, events, last: null },
  }))
const shown = (probe: string, t: number): TelemetryEvent => ({ type: 'shown', t, probe })
const point = (probe: string, t: number, x = 50): TelemetryEvent => ({
  type: 'point',
  t,
  probe,
  how: 'm',
  trusted: true,
  x,
  y: 50,
})
const alternative = (t: number): TelemetryEvent => ({ type: 'alternative', t })
const resultsOf = (made: readonly RecordInput[]) => probeOutcomes(recordsOf(made)).map(({ result }) => result)

test('an answer is judged by place, by the page’s clock and by the server’s', () => {
  const once = (at: number, x?: number, receivedAt = at) =>
    resultsOf([{ t: receivedAt, probe: 'a', events: [shown('a', 100), point('a', at, x)] }])
  assert.deepEqual(once(1_100), ['hit'])
  assert.deepEqual(once(1_100, 73), ['wrong'])
  assert.deepEqual(once(349), ['early'])
  assert.deepEqual(once(2_601), ['late'])
  assert.deepEqual(once(1_100, 50, 5_501), ['late'], 'the server saw it too late')
  assert.deepEqual(resultsOf([{ t: 900, probe: 'a', events: [shown('a', 100)] }]), ['unanswered'])
})

test('asking for the other kind takes back the probe that is open', () => {
  const open = { t: 1_000, probe: 'a', events: [shown('a', 100), alternative(900)] }
  assert.deepEqual(resultsOf([open]), [])
  assert.deepEqual(
    resultsOf([{ ...open, events: [shown('a', 100), point('a', 800, 9), alternative(900)] }]),
    ['wrong'],
  )
})

test('asking for the other kind does not wipe out what was missed before', () => {
  const missed = { t: 3_000, probe: 'a', events: [shown('a', 100)] }
  assert.deepEqual(resultsOf([missed, { t: 7_000, events: [alternative(6_900)] }]), ['unanswered'])
  const second = { t: 4_000, probe: 'b', events: [shown('b', 3_100), alternative(3_900)] }
  assert.deepEqual(resultsOf([missed, second]), ['unanswered'], 'only the open one')
})

test('what is no chunk of version 1 is not read', () => {
  const good = { v: 1, seq: 1, receipt: 'A'.repeat(22), t0: 0, t1: 100, ev: [['s', 5, 10]] }
  assert.ok(readChunk(JSON.stringify(good)))
  const bad: readonly unknown[] = [
    null,
    [],
    { ...good, v: 2 },
    { ...good, seq: 0 },
    { ...good, t1: -1 },
    { ...good, receipt: 'short' },
    { ...good, ev: [['s', 500, 10]] },
    { ...good, ev: [['s', 5]] },
    { ...good, ev: [['k', 5, 'd', 0, 1, 'the letter']] },
    { ...good, ev: [['constructor', 5]] },
    { ...good, ev: [['m', 1, 'm', 1, 1, [1, 2, 3]]] },
    { ...good, ev: Array.from({ length: 4_001 }, () => ['h', 0]) },
    { ...good, env: {} },
    { ...good, last: { n: 0, ms: 1 } },
  ]
  for (const value of bad) assert.equal(readChunk(JSON.stringify(value)), undefined, JSON.stringify(value))
  assert.equal(readChunk('{'), undefined)
})
