import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LoadCall } from '../verify-load/load.ts'
import {
  figuresOfRevocation,
  findForbidden,
  findRevocationFaults,
  gapOf,
  type Kill,
  type Revocation,
} from './judgement.ts'

// Records as `npm run battery -- machines` makes them. The battery needs root and minutes; the comparison with the database and
// the journals is tested with its other users, in failover/accounting.test.ts and signer.long.test.ts.

const [first, second] = ['http://198.18.0.2:80', 'http://198.18.0.3:80']
const call = (baseUrl: string, startedAt: number, status: number, error = ''): LoadCall => ({
  baseUrl,
  startedAt,
  endedAt: startedAt + 100,
  status,
  error,
})
const kill = (part: Kill['part'], baseUrl = first): Kill => ({
  machine: 'app1',
  baseUrl,
  part,
  killedAt: 10_000,
  backAt: 20_000,
})

const allowed: readonly (readonly [string, LoadCall, Kill['part']])[] = [
  ['a credential', call(first, 12_000, 200), 'signer'],
  ['a refusal for want of credits', call(second, 12_000, 402, 'insufficient_credits'), 'machine'],
  ['a refusal while signers change', call(first, 12_000, 503, 'overloaded'), 'signer'],
  ['no answer from the machine without power', call(first, 12_000, 0, 'EHOSTUNREACH'), 'machine'],
  ['a call that was under way', call(first, 9_950, 0, 'ECONNRESET'), 'api'],
  ['a connection from before', call(first, 25_000, 0, 'ECONNRESET on a kept connection'), 'machine'],
]
for (const [what, each, part] of allowed)
  test(`${what} is no fault`, () => assert.deepEqual(findForbidden([each], [kill(part)]), []))

const planted: readonly (readonly [string, LoadCall, Kill['part'], RegExp])[] = [
  ['an internal error', call(first, 12_000, 500, 'internal_error'), 'machine', /^1 × 500 internal_error/],
  ['no answer from the other machine', call(second, 12_000, 0, 'ECONNRESET'), 'machine', /^1 × 0 ECONNRESET/],
  ['no answer while only the signer is away', call(first, 12_000, 0, 'ECONNRESET'), 'signer', /^1 × 0/],
  ['no answer while only the worker is away', call(first, 12_000, 0, 'CLIENT_TIMEOUT'), 'worker', /^1 × 0/],
  ['no answer before the kill', call(first, 9_800, 0, 'ECONNRESET'), 'api', /^1 × 0/],
  ['no answer after the api was back', call(first, 20_001, 0, 'ECONNRESET'), 'api', /^1 × 0/],
  ['a new connection that fails later', call(first, 25_000, 0, 'ECONNRESET'), 'machine', /^1 × 0/],
  ['a 503 that is not ours', call(first, 12_000, 503), 'signer', /^1 × 503/],
  ['a false alarm of the restore', call(first, 12_000, 503, 'restore_pending'), 'machine', /restore_pending/],
]
for (const [what, each, part, reason] of planted)
  test(`${what} is found`, () => {
    const [found = '', ...more] = findForbidden([each, call(first, 13_000, 200)], [kill(part)])
    assert.match(found, reason)
    assert.deepEqual(more, [])
  })

test('the gap is the longest time without a 200 from a machine whose api was running', () => {
  const at = (baseUrl: string, ends: readonly number[]) => ends.map((end) => call(baseUrl, end - 100, 200))
  const calls = [
    ...at(first, [9_000, 9_900, 21_000]),
    ...at(second, [9_900, 12_000, 12_500, 19_000, 20_500, 40_000]),
    call(second, 15_000, 503, 'overloaded'),
  ]
  const urls = [first, second]
  assert.equal(gapOf(kill('machine'), urls, calls), 6_500)
  assert.equal(gapOf(kill('machine', second), urls, calls), 11_100)
  assert.equal(gapOf(kill('signer'), urls, calls), 11_100)
})

const revocation: Revocation = {
  kid: 'key',
  owner: 'app1',
  revokedOn: 'app2',
  revokedAt: 100_000,
  unpublishedMs: 1_500,
}
const line = (at: number, kid = 'key') => ({ at, kid, id: 'crd_1', hash: 'h' })

test('a key that stops within 5 s holds; its last signature is counted', () => {
  const figures = figuresOfRevocation(revocation, [
    line(80_000),
    line(99_000),
    line(102_100),
    line(108_000, 'x'),
  ])
  assert.deepEqual(figures, { before: 1, after: 1, lastSignatureMs: 2_100, unpublishedMs: 1_500 })
  assert.deepEqual(findRevocationFaults(revocation, figures), [])
})

const revocationFaults: readonly (readonly [string, readonly number[], number, RegExp])[] = [
  ['signs on', [99_000, 105_001], 1_500, /still signed after 5001 ms/],
  ['stays published', [99_000], Infinity, /was published for Infinity ms more/],
  ['signed nothing before', [], 1_500, /this says nothing/],
]
for (const [what, times, unpublishedMs, reason] of revocationFaults)
  test(`a revoked key that ${what} is found`, () => {
    const each = { ...revocation, unpublishedMs }
    const [found = '', ...more] = findRevocationFaults(
      each,
      figuresOfRevocation(
        each,
        times.map((at) => line(at)),
      ),
    )
    assert.match(found, reason)
    assert.deepEqual(more, [])
  })
