import assert from 'node:assert/strict'
import { test } from 'node:test'
import { figuresOf, findBrokenBounds, type FaultRecord, type ReadinessProbe } from './judgement.ts'
import type { CallOutcome } from '../verify-load/calls.ts'

// Records of faults as the battery makes them, one second a step. The fault begins at 10 s and ends at 20 s.

const second = 1_000
const call = (
  startedAt: number,
  status: number,
  options: { lasts?: number; error?: string } = {},
): CallOutcome => ({
  startedAt,
  endedAt: startedAt + (options.lasts ?? 100),
  status,
  error: options.error ?? '',
})
/** Two calls a second, with the status of each second. */
const callsBetween = (from: number, to: number, status: number): CallOutcome[] =>
  Array.from({ length: (to - from) * 2 }, (_, index) => call(from * second + index * 500, status))
const probesBetween = (from: number, to: number, status: number): ReadinessProbe[] =>
  Array.from({ length: to - from }, (_, index) => ({
    startedAt: (from + index) * second,
    endedAt: (from + index) * second + 10,
    status,
  }))

/** Refused for the time of the fault and two seconds more, with a `/readyz` that says so. */
const sound: FaultRecord = {
  kind: 'unplanned',
  beganAt: 10 * second,
  endedAt: 20 * second,
  observedUntil: 40 * second,
  calls: [...callsBetween(0, 10, 200), ...callsBetween(10, 22, 503), ...callsBetween(22, 40, 200)],
  probes: [...probesBetween(0, 12, 200), ...probesBetween(12, 22, 503), ...probesBetween(22, 40, 200)],
  lost: 0,
  doubled: 0,
  undelivered: 0,
  restartedByHand: 0,
  faults: [],
}

test('a fault within all bounds is not reported, and its figures are those of the record', () => {
  assert.deepEqual(findBrokenBounds(sound, 1), [])
  const { calls, status503, succeeded, readinessMs, recoveryMs, longestCallMs } = figuresOf(sound)
  assert.deepEqual({ calls, status503, succeeded }, { calls: 21, status503: 24, succeeded: 36 })
  assert.ok(readinessMs > 1_500 && readinessMs < 2_500, `/readyz was untrue for ${readinessMs} ms`)
  assert.ok(recoveryMs > 1_900 && recoveryMs < 2_500, `it recovered after ${recoveryMs} ms`)
  assert.equal(longestCallMs, 100)
})

test('a call refused at the end of the observation delays the recovery until its repetition succeeds', () => {
  const refused = [...sound.calls, call(39_900, 503, { lasts: 2_000 })]
  assert.equal(figuresOf({ ...sound, calls: refused }).recoveryMs, Infinity)
  const repeated = [...refused, call(42_100, 200, { lasts: 10 })]
  assert.equal(figuresOf({ ...sound, calls: repeated }).recoveryMs, 22_110)
})

const planted: readonly (readonly [string, Partial<FaultRecord>, RegExp])[] = [
  ['an internal error', { calls: [...sound.calls, call(15_000, 500)] }, /^1 calls were answered 500$/],
  ['a 502 of a proxy', { calls: [...sound.calls, call(15_000, 502)] }, /another 5xx/],
  [
    'a call that was accepted and dropped',
    { calls: [...sound.calls, call(15_000, 0, { error: 'ECONNRESET' })] },
    /^1 calls were accepted and got no complete answer: 1 ECONNRESET$/,
  ],
  [
    'a listener that closed by itself',
    { calls: [...sound.calls, call(15_000, 0, { error: 'ECONNREFUSED' })] },
    /closed listener/,
  ],
  [
    'a call that hung for the whole fault',
    { calls: [...sound.calls, call(10_100, 503, { lasts: 15_500 })] },
    /^a call hung for 15\.5 s$/,
  ],
  ['a readiness check that says 200 in an outage', { probes: probesBetween(0, 40, 200) }, /untrue for 12/],
  [
    'a readiness check that says 503 while verify works',
    { probes: [...probesBetween(0, 12, 200), ...probesBetween(12, 40, 503)] },
    /untrue for 17/,
  ],
  [
    'a readiness check that hangs',
    {
      probes: [
        ...probesBetween(0, 10, 200),
        { startedAt: 10_050, endedAt: 15_051, status: 0 },
        { startedAt: 15_051, endedAt: 20_052, status: 0 },
        ...probesBetween(22, 40, 200),
      ],
    },
    /untrue for 10/,
  ],
  [
    'a server that recovers too late',
    { calls: [...callsBetween(0, 10, 200), ...callsBetween(10, 37, 503), ...callsBetween(37, 40, 200)] },
    /worked again after: 17/,
  ],
  [
    'a server that never recovers',
    { calls: [...callsBetween(0, 10, 200), ...callsBetween(10, 40, 503)] },
    /worked again after: never/,
  ],
  ['a run without calls', { calls: callsBetween(22, 40, 200) }, /^only 0 calls during the fault/],
  ['a lost credential', { lost: 1 }, /^1 acknowledged credentials are not stored$/],
  ['a double charge', { doubled: 2 }, /^2 charges/],
  ['an event that was forgotten', { undelivered: 3 }, /^3 events/],
  ['a restart by hand', { restartedByHand: 1 }, /^1 restarts by hand$/],
  ['a fault that did not take place', { faults: ['the clock is off by 0 s'] }, /^the clock is off by 0 s$/],
  ['a 503 in a planned stop', { kind: 'stop' }, /^24 calls were answered 503 in a planned stop$/],
]
for (const [what, change, reason] of planted)
  test(`${what} is found, with its reason`, () => {
    const reasons = findBrokenBounds({ ...sound, ...change }, 1)
    assert.ok(
      reasons.some((each) => reason.test(each)),
      JSON.stringify(reasons),
    )
  })

test('a closed listener is allowed where the only server stops, and not behind a load balancer', () => {
  const calls = [
    ...callsBetween(0, 10, 200),
    ...Array.from({ length: 20 }, (_, index) => call(10_000 + index * 100, 0, { error: 'ECONNREFUSED' })),
    ...callsBetween(12, 40, 200),
  ]
  assert.deepEqual(findBrokenBounds({ ...sound, calls, kind: 'stop' }, 1), [])
  const dropped = [...calls, call(11_000, 0, { error: 'ECONNRESET on a kept connection' })]
  assert.match(findBrokenBounds({ ...sound, calls: dropped, kind: 'stop' }, 1).join(), /no complete answer/)
  assert.match(findBrokenBounds({ ...sound, calls, kind: 'rolling' }, 1).join(), /closed listener/)
})
