import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readClientAddress, unknownAddress } from './client-address.ts'
import { makeRateLimiter } from './rate-limiter.ts'

const minute = { name: 'key', quota: 3, windowSeconds: 60 }
const start = () => {
  let ms = Date.UTC(2026, 6)
  return {
    limiter: makeRateLimiter({ now: () => new Date(ms) }),
    advance: (by: number) => {
      ms += by
    },
  }
}

test('a window lets exactly its quota through, then nothing until it ends', () => {
  const { limiter, advance } = start()
  const take = () => limiter.take(minute, 'a').allowed
  assert.deepEqual([take(), take(), take(), take(), take()], [true, true, true, false, false])
  advance(59_999)
  assert.equal(take(), false)
  advance(1)
  assert.deepEqual([take(), take(), take(), take()], [true, true, true, false])
})

test('a clock that was set back an hour does not extend a window that is used up', () => {
  const { limiter, advance } = start()
  for (let call = 0; call < 4; call++) limiter.take(minute, 'a')
  advance(-3_600_000)
  assert.equal(limiter.take(minute, 'a').allowed, true)
})

test('both styles of headers say quota, what remains and when it ends; Retry-After only when refused', () => {
  const { limiter, advance } = start()
  assert.deepEqual(limiter.take(minute, 'a').headers, {
    'ratelimit-policy': '"key";q=3;w=60',
    ratelimit: '"key";r=2;t=60',
    'x-ratelimit-limit': '3',
    'x-ratelimit-remaining': '2',
    'x-ratelimit-reset': '60',
  })
  advance(20_500)
  limiter.take(minute, 'a')
  limiter.take(minute, 'a')
  assert.deepEqual(limiter.take(minute, 'a').headers, {
    'ratelimit-policy': '"key";q=3;w=60',
    ratelimit: '"key";r=0;t=40',
    'x-ratelimit-limit': '3',
    'x-ratelimit-remaining': '0',
    'x-ratelimit-reset': '40',
    'retry-after': '40',
  })
})

test('whoever waits for Retry-After is let in', () => {
  const { limiter, advance } = start()
  for (const passed of [0, 1, 999, 30_001, 59_999]) {
    for (let i = 0; i < 3; i++) limiter.take(minute, 'a')
    advance(passed)
    advance(Number(limiter.take(minute, 'a').headers['retry-after']) * 1_000)
    assert.equal(limiter.take(minute, 'a').allowed, true, `after ${passed} ms`)
    advance(60_000)
  }
})

test('one key or limit never uses up another', () => {
  const { limiter } = start()
  for (let i = 0; i < 5; i++) limiter.take(minute, 'a')
  assert.equal(limiter.take(minute, 'b').allowed, true)
  assert.equal(limiter.take({ ...minute, name: 'mail' }, 'a').allowed, true)
})

test('a flood of addresses holds at most 100,000 windows, and the oldest goes first', () => {
  const { limiter } = start()
  const once = { name: 'register', quota: 1, windowSeconds: 3_600 }
  for (let i = 0; i < 100_500; i++) limiter.take(once, `address-${i}`)
  assert.equal(limiter.size(), 100_000)
  assert.equal(limiter.take(once, 'address-100499').allowed, false)
  assert.equal(limiter.take(once, 'address-500').allowed, false)
  assert.equal(limiter.take(once, 'address-499').allowed, true)
  assert.equal(limiter.size(), 100_000)
})

const perNetwork = { name: 'calls', perNetwork: 3, windowSeconds: 60 }

test('a call counts for the narrow and the wide network of its client, or for none', () => {
  const { limiter, advance } = start()
  const take = (address: string) => limiter.takeFor(perNetwork, readClientAddress(address)).allowed
  for (let host = 0; host < 12; host++) assert.equal(take(`2001:db8:1:${host}::1`), true, String(host))
  for (let host = 12; host < 500; host++) assert.equal(take(`2001:db8:1:${host}::1`), false, String(host))
  // A refused call leaves no window: only the twelve that were let in, and their wide network.
  assert.equal(limiter.size(), 13)
  assert.equal(take('2001:db8:2::1'), true)
  assert.deepEqual(['192.0.2.1', '192.0.2.1', '192.0.2.1', '192.0.2.1', '192.0.2.2'].map(take), [
    true,
    true,
    true,
    false,
    true,
  ])
  for (let host = 3; host < 11; host++) assert.equal(take(`192.0.2.${host}`), true, String(host))
  assert.deepEqual(['192.0.2.11', '192.0.3.11'].map(take), [false, true])
  advance(60_000)
  assert.deepEqual(['192.0.2.11', '2001:db8:1:99::1'].map(take), [true, true])
})

test('the headers are those of the network of the client with less left', () => {
  const { limiter } = start()
  const policyOf = (address: string) => {
    const { headers } = limiter.takeFor(perNetwork, readClientAddress(address))
    return `${headers['ratelimit-policy']} ${headers['x-ratelimit-remaining']}`
  }
  assert.equal(policyOf('192.0.2.1'), '"calls";q=3;w=60 2')
  for (let host = 2; host < 12; host++) policyOf(`192.0.2.${host}`)
  assert.equal(policyOf('192.0.2.12'), '"calls_network";q=12;w=60 0')
  assert.equal(policyOf('192.0.2.13'), '"calls_network";q=12;w=60 0')
})

test('all clients that are not known have the quota of one network together', () => {
  const { limiter } = start()
  const taken = ['garbage', '', '1.2.3.4:x', '256.1.1.1', 'unknown'].map(
    (text) => limiter.takeFor(perNetwork, readClientAddress(text)).allowed,
  )
  assert.deepEqual(taken, [true, true, true, false, false])
})

test('what a call did not use is returned to both networks', () => {
  const { limiter } = start()
  const client = readClientAddress('192.0.2.1')
  for (let call = 0; call < 50; call++) {
    assert.equal(limiter.takeFor(perNetwork, client).allowed, true)
    limiter.releaseFor(perNetwork, client)
  }
  for (let call = 0; call < 3; call++) assert.equal(limiter.takeFor(perNetwork, unknownAddress).allowed, true)
  limiter.releaseFor(perNetwork, unknownAddress)
  assert.deepEqual(
    [1, 2].map(() => limiter.takeFor(perNetwork, unknownAddress).allowed),
    [true, false],
  )
})
