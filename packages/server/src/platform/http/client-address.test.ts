import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readClientAddress, unknownAddress } from './client-address.ts'

const narrowOf = (text: string) => readClientAddress(text).narrow

test('one IPv6 /64 is one client, however its addresses are written', () => {
  const same = [
    '2001:db8:1:2::1',
    '2001:db8:1:2:3:4:5:6',
    '2001:DB8:1:2:ffff:ffff:ffff:ffff',
    '2001:0db8:0001:0002::1',
    '2001:db8:1:2::',
    '2001:db8:1:2::1%eth0',
    '2001:db8:1:2::192.0.2.1',
    '[2001:db8:1:2::1]',
    '[2001:db8:1:2::1]:80',
    '[2001:db8:1:2::1%eth0]:65535',
  ]
  for (const address of same) {
    assert.equal(narrowOf(address), '2001:db8:1:2::/64', address)
    assert.equal(readClientAddress(address).wide, '2001:db8:1::/48', address)
  }
  for (const other of ['2001:db8:1:3::1', '2001:db8::1:2', '2001:db8:1::2', '::1', 'fe80::1'])
    assert.notEqual(narrowOf(other), '2001:db8:1:2::/64', other)
  assert.equal(narrowOf('::1'), '0:0:0:0::/64')
  assert.equal(narrowOf('1::'), '1:0:0:0::/64')
})

test('an IPv4 address counts the same with and without a port, and as IPv4-mapped', () => {
  const written = [
    '192.0.2.7',
    ' 192.0.2.7\t',
    '192.0.2.7:1',
    '192.0.2.7:65535',
    '::ffff:192.0.2.7',
    '::FFFF:192.0.2.7',
    '0:0:0:0:0:ffff:c000:207',
    '::ffff:c000:207',
    '[::ffff:192.0.2.7]:443',
  ]
  for (const address of written)
    assert.deepEqual(
      readClientAddress(address),
      { text: '192.0.2.7', narrow: '192.0.2.7', wide: '192.0.2.0/24' },
      address,
    )
  assert.notEqual(narrowOf('::ffff:192.0.2.8'), narrowOf('::ffff:192.0.2.7'))
})

test('every text that is no address is one client', () => {
  const texts = [
    undefined,
    '',
    ' ',
    'garbage',
    'unknown',
    '_hidden',
    '"192.0.2.7"',
    '[192.0.2.7]',
    '192.0.2.7:',
    '192.0.2.7:123456',
    '192.0.2.7:8001:8002',
    '192.0.2.07',
    '192.0.2.256',
    '192.0.2',
    '3221225991',
    '0x7f.1',
    '1.2.3.4, 5.6.7.8',
    '[2001:db8::1',
    '2001:db8::1]:80',
    '2001:db8:1:2:3:4:5:6:7',
    '2001:db8::1::2',
    'example.com:80',
    'a'.repeat(4_000),
    '1'.repeat(16_000),
  ]
  for (const text of texts) assert.equal(readClientAddress(text), unknownAddress, text)
})

test('an IPv6 address that contains the IPv4 address of a client counts as that: a tunnel gives no further networks', () => {
  const same = [
    '2002:c000:207::1',
    '2002:c000:0207:ffff:1:2:3:4',
    '2002:C000:207:0:a::',
    '64:ff9b::192.0.2.7',
    '64:ff9b::c000:207',
    '2001:0:4136:e378:8000:63bf:3fff:fdf8',
    '2001::5db8:d822:0:0:3fff:fdf8',
  ]
  for (const address of same) {
    const { text, narrow, wide } = readClientAddress(address)
    assert.equal(narrow, '192.0.2.7', address)
    assert.equal(wide, '192.0.2.0/24', address)
    assert.match(text, /:/, `${address} has not the rights of the IPv4 address`)
  }
  for (const own of [
    '2003:c000:207::1',
    '2001:1:4136::3fff:fdf8',
    '64:ff9b:1::c000:207',
    '64:ff9b::1:c000:207',
  ])
    assert.match(narrowOf(own), /::\/64$/, own)
})
