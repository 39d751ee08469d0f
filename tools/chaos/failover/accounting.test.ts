import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { makeDatabase } from '../../../packages/server/test/fixtures/harness.ts'
import { audit } from '../verify-load/audit.ts'
import type { CallOutcome } from '../verify-load/calls.ts'
import { figuresOf, findBrokenBounds, type RunRecord } from './accounting.ts'
import { withDatabase } from '../../driver/service.ts'

// Records of runs as `npm run battery -- failover` makes them. The fault begins at 10 s and ends at 20 s. The battery itself needs
// packages that CI does not have.

const second = 1_000
const gapMsMax = 20 * second
const call = (startedAt: number, status: number, error = ''): CallOutcome => ({
  startedAt,
  endedAt: startedAt + 100,
  status,
  error,
})
const callsBetween = (from: number, to: number, status: number, error = ''): CallOutcome[] =>
  Array.from({ length: (to - from) * 2 }, (_, index) => call(from * second + index * 500, status, error))

/** Refused from 10 s on, and answered again 15 s later. */
const sound: RunRecord = {
  beganAt: 10 * second,
  endedAt: 20 * second,
  observedUntil: 40 * second,
  calls: [
    ...callsBetween(0, 10, 200),
    ...callsBetween(10, 25, 503, 'overloaded'),
    ...callsBetween(25, 40, 200),
    call(26 * second, 402, 'insufficient_credits'),
    call(27 * second, 202),
  ],
  failedKeyRequests: [],
  acknowledged: 50,
  lost: 0,
  doubled: 0,
  isRecovered: true,
  isWhole: true,
  endedProcesses: [],
  faults: [],
}

test('a run within all bounds is not reported, and its figures are those of the record', () => {
  assert.deepEqual(findBrokenBounds(sound, gapMsMax), [])
  const { gapMs, status503, succeeded, otherRefusals, forbidden } = figuresOf(sound)
  assert.equal(gapMs, 15_500)
  assert.deepEqual(
    { status503, succeeded, otherRefusals, forbidden },
    { status503: 30, succeeded: 30, otherRefusals: 1, forbidden: 0 },
  )
})

const planted: readonly (readonly [string, Partial<RunRecord>, RegExp])[] = [
  ['a lost credential', { lost: 195 }, /^195 acknowledged credentials are not stored$/],
  ['a session with two credentials', { doubled: 1 }, /^1 charges or credentials are double/],
  [
    'an internal error',
    { calls: [...sound.calls, call(15_000, 500, 'internal_error')] },
    /1 × 500 internal_error$/,
  ],
  ['a 502 of HAProxy', { calls: [...sound.calls, call(15_000, 502)] }, /4xx and 503: 1 × 502$/],
  [
    'a call without an answer',
    { calls: [...sound.calls, call(15_000, 0, 'ECONNRESET')] },
    /1 × 0 ECONNRESET$/,
  ],
  ['a 503 page of HAProxy', { calls: [...sound.calls, call(15_000, 503)] }, /^1 answers 503 have no JSON/],
  [
    'a gap that is too long',
    {
      calls: [
        ...callsBetween(0, 10, 200),
        ...callsBetween(10, 35, 503, 'overloaded'),
        ...callsBetween(35, 40, 200),
      ],
    },
    /^no 200 for 25\.5 s, more than 20\.0 s$/,
  ],
  [
    'a gap that begins after the fault and lasts until the end',
    { calls: [...callsBetween(0, 18, 200), ...callsBetween(18, 40, 503, 'overloaded')] },
    /^no 200 for 22\.4 s/,
  ],
  ['a run without calls', { calls: callsBetween(12, 20, 200) }, /^only 16 calls/],
  ['public keys that were away', { failedKeyRequests: [12_000] }, /^1 requests for the public keys failed$/],
  ['a service that does not recover', { isRecovered: false }, /did not work again by itself/],
  ['a replica that does not come back', { isWhole: false }, /did not get a leader and two replicas/],
  ['a process that ended', { endedProcesses: ['api1'] }, /^these processes ended: api1$/],
  ['a fault that did not take place', { faults: ['there was no session'] }, /^there was no session$/],
]
for (const [what, change, reason] of planted)
  test(`${what} is found, with its reason`, () => {
    const reasons = findBrokenBounds({ ...sound, ...change }, gapMsMax)
    assert.ok(
      reasons.some((each) => reason.test(each)),
      JSON.stringify(reasons),
    )
  })

test('the audit of a database finds an acknowledged credential that it lacks, and a session with two', async () => {
  const { url, drop } = await makeDatabase()
  after(drop)
  await withDatabase(url, async (client) => {
    const nothing = { acknowledged: new Map<string, string>(), unresolved: new Set<string>() }
    const clean = await audit(client, nothing)
    assert.deepEqual([clean.lost, clean.doubleCharged, clean.faults], [0, 0, []])
    const lost = await audit(client, { ...nothing, acknowledged: new Map([['agt_a s1', 'a.b.c']]) })
    assert.equal(lost.lost, 1)
    await client.query(`insert into events (agent_id, mode, event_id, type, subject, data)
      select 'agt_a', 'live', 'evt_' || n, 'credential.issued', 's1', '{"sessionId": "s1"}' from generate_series(1, 2) n`)
    assert.equal((await audit(client, nothing)).doubleCharged, 1)
  })
})
