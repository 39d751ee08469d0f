import assert from 'node:assert/strict'
import { test } from 'node:test'
import { networkPrefixOf, makeRateLimiter, wideNetworkPrefixOf } from './rate-limiter.ts'

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

test('one IPv6 /64 is one client, however its addresses are written', () => {
  const same = [
    '2001:db8:1:2::1',
    '2001:db8:1:2:3:4:5:6',
    '2001:DB8:1:2:ffff:ffff:ffff:ffff',
    '2001:0db8:0001:0002::1',
    '2001:db8:1:2::',
    '2001:db8:1:2::1%eth0',
    '2001:db8:1:2::192.0.2.1',
  ]
  for (const address of same) assert.equal(networkPrefixOf(address), '2001:db8:1:2::/64', address)
  for (const other of ['2001:db8:1:3::1', '2001:db8::1:2', '2001:db8:1::2', '::1', 'fe80::1'])
    assert.notEqual(networkPrefixOf(other), '2001:db8:1:2::/64', other)
  assert.equal(networkPrefixOf('::1'), '0:0:0:0::/64')
  assert.equal(networkPrefixOf('1::'), '1:0:0:0::/64')
})

test('an IPv4 client that a dual-stack socket writes as IPv6 counts as the IPv4 client', () => {
  assert.equal(networkPrefixOf('192.0.2.7'), '192.0.2.7')
  for (const mapped of ['::ffff:192.0.2.7', '::FFFF:192.0.2.7', '0:0:0:0:0:ffff:c000:207', '::ffff:c000:207'])
    assert.equal(networkPrefixOf(mapped), '192.0.2.7', mapped)
  assert.notEqual(networkPrefixOf('::ffff:192.0.2.8'), networkPrefixOf('::ffff:192.0.2.7'))
})

test('an IPv6 address that contains the IPv4 address of a client counts as that: a tunnel gives no further networks', () => {
  const same = [
    '2002:c000:207::1',
    '2002:c000:0207:ffff:1:2:3:4',
    '2002:C000:0207:0:a::',
    '64:ff9b::192.0.2.7',
    '64:ff9b::c000:207',
    '2001:0:4136:e378:8000:63bf:3fff:fdf8',
    '2001::5db8:d822:0:0:3fff:fdf8',
  ]
  for (const address of same) {
    assert.equal(networkPrefixOf(address), '192.0.2.7', address)
    assert.equal(wideNetworkPrefixOf(address), '192.0.2.0/24', address)
  }
  for (const own of [
    '2003:c000:207::1',
    '2001:1:4136::3fff:fdf8',
    '64:ff9b:1::c000:207',
    '64:ff9b::1:c000:207',
  ])
    assert.match(networkPrefixOf(own), /::\/64$/, own)
})
