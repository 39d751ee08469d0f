import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endpoints, operatorEndpoints, type Endpoint } from '@pohf/protocol'
import { makeKeyLookups } from '../../src/platform/http/key-lookups.ts'
import { Refusal } from '../../src/platform/http/errors.ts'
import { makeRateLimiter } from '../../src/platform/http/rate-limiter.ts'
import { makeKey } from '../../src/platform/ops/keys.ts'
import { startHarness } from '../fixtures/harness.ts'
import { assertRefusal } from '../fixtures/refusal.ts'
import { readClientAddress } from '../../src/platform/http/client-address.ts'

const harness = await startHarness({ ADDRESS_LIMITS: 'on', TRUSTED_PROXIES: '127.0.0.1' })
const me = (key: string, address: string) =>
  harness.call('GET', '/api/agents/me', { key, headers: { 'x-forwarded-for': address } })
const randomKey = () => makeKey('svc_live_', 'aa')
/** The statuses of `count` calls at once, each with another key that does not exist. */
const guess = async (count: number, address: string): Promise<Record<number, number>> => {
  const answers = await Promise.all(Array.from({ length: count }, () => me(randomKey(), address)))
  const statuses = Object.groupBy(answers, ({ status }) => status)
  return Object.fromEntries(Object.entries(statuses).map(([status, of]) => [status, of?.length ?? 0]))
}

test('an address that guesses keys gets 429 after 60 in a minute, also with 200 calls at once', async () => {
  assert.deepEqual(await guess(200, '192.0.2.9'), { 401: 60, 429: 140 })
  const refused = await me(randomKey(), '192.0.2.9')
  assertRefusal(refused, 429, 'rate_limited')
  assert.ok(Number(refused.headers['retry-after']) <= 60)
  await harness.advance(60_000)
  assert.equal((await me(randomKey(), '192.0.2.9')).status, 401)
})

test('a key that was used before works from the address of somebody who guesses, and from any other', async () => {
  const { apiKey } = await harness.register('live')
  assert.equal((await me(apiKey, '198.51.100.7')).status, 200)
  assert.deepEqual(await guess(100, '198.51.100.8'), { 401: 60, 429: 40 })
  for (const address of ['198.51.100.7', '198.51.100.8', '203.0.113.1'])
    assert.equal((await me(apiKey, address)).status, 200)
  // A key that this process never saw waits there, and works at once from elsewhere.
  const fresh = await harness.register('live')
  assert.equal((await me(fresh.apiKey, '198.51.100.8')).status, 429)
  assert.equal((await me(fresh.apiKey, '203.0.113.2')).status, 200)
  assert.equal((await me(fresh.apiKey, '198.51.100.8')).status, 200)
})

test('a new key may start with many calls at once', async () => {
  const { apiKey } = await harness.register('live')
  const answers = await Promise.all(Array.from({ length: 150 }, () => me(apiKey, '203.0.113.20')))
  assert.ok(answers.every(({ status }) => status === 200))
  assert.deepEqual(await guess(61, '203.0.113.20'), { 401: 60, 429: 1 })
})

test('a revoked key is a key that does not exist, and malformed keys cost nothing', async () => {
  const { apiKey } = await harness.register('live')
  const { json } = await harness.call('POST', '/api/agents/keys', {
    key: apiKey,
    body: { scopes: ['keys'] },
  })
  assert.equal((await me(json.apiKey, '203.0.113.30')).status, 200)
  await harness.call('POST', '/api/agents/keys/revoke', { key: apiKey, body: { keyId: json.keyId } })
  for (let tries = 0; tries < 61; tries++)
    assert.equal((await me(json.apiKey, '203.0.113.30')).status, 401, String(tries))
  assert.equal((await me(json.apiKey, '203.0.113.30')).status, 429)
  for (let tries = 0; tries < 70; tries++)
    assert.equal((await me('svc_live_wrong', '203.0.113.31')).status, 401)
  assert.equal((await me(randomKey(), '203.0.113.31')).status, 401)
})

/** How many of 2,000 keys that do not exist are looked up, each from the address of its number. */
const countLookups = async (makeAddress: (n: number) => string): Promise<number> => {
  let lookups = 0
  const guarded = makeKeyLookups({ addressLimits: true }, makeRateLimiter({ now: () => new Date() }))
  const deny = async () => {
    lookups += 1
    throw new Refusal('invalid_api_key')
  }
  const calls = Array.from({ length: 2_000 }, (_, n) =>
    guarded(readClientAddress(makeAddress(n)), randomKey(), deny),
  )
  for (const call of await Promise.allSettled(calls))
    assert.ok(call.status === 'rejected' && call.reason instanceof Refusal)
  return lookups
}

test('a /48 or a /24 has 240 look-ups a minute, however many addresses it uses', async () => {
  assert.equal(await countLookups((n) => `2001:db8:abcd:${n.toString(16)}::1`), 240)
  assert.equal(await countLookups((n) => `192.0.2.${n % 256}`), 240)
  assert.equal(await countLookups((n) => `10.${n % 250}.${n >> 8}.1`), 2_000)
})

test('every row for a signed-in person has a limit by address, so cookies cannot be guessed without end', () => {
  const kinds: readonly Endpoint['auth'][] = ['member', 'console', 'operatorSession']
  const all: readonly Endpoint[] = [...endpoints, ...operatorEndpoints]
  const rows = all.filter(({ auth }) => kinds.includes(auth))
  assert.ok(rows.length >= 35)
  for (const row of rows) assert.ok(row.limit, row.id)
})
