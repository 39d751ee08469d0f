import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseNetworks, readNetworks } from './networks.ts'
import { readClientAddress } from '../platform/http/client-address.ts'

const list = `
# A comment, and an empty line.

203.0.113.0/24 carrier   # a phone company
203.0.113.64/26 hosting
198.51.100.7/32 relay
2001:db8::/32 hosting
2001:db8:1::/48 relay
`

test('the longest prefix that holds an address decides its kind, for IPv4 and IPv6', () => {
  const factorOf = parseNetworks(list)
  const cases: readonly (readonly [string, number])[] = [
    ['203.0.113.1', 20],
    ['203.0.113.63', 20],
    ['203.0.113.64', 0],
    ['203.0.113.127', 0],
    ['203.0.113.128', 20],
    ['203.0.112.255', 1],
    ['198.51.100.7', 20],
    ['198.51.100.8', 1],
    ['::ffff:203.0.113.70', 0],
    ['2002:cb00:7146::1', 0],
    ['2001:db8:2::1', 0],
    ['2001:db8:1:ffff::1', 20],
    ['2001:db9::1', 1],
  ]
  for (const [address, factor] of cases) assert.equal(factorOf(readClientAddress(address)), factor, address)
})

test('a file that is not a list of networks is refused, with the line', () => {
  const wrong = [
    '203.0.113.0/33 carrier',
    '203.0.113.0/0 carrier',
    '203.0.113.0/24',
    '203.0.113.0/24 unknown',
    '203.0.113 carrier',
    '203.0.113.300/32 carrier',
    '2001:db8::/129 relay',
    '2001:db8:::/32 relay',
    'carrier 203.0.113.0/24',
  ]
  for (const line of wrong)
    assert.throws(() => parseNetworks(`\n${line}`), /line 2 is not a CIDR range/, line)
  for (const line of ['2002::/16 hosting', '2001:0::/32 hosting', '::ffff:203.0.113.0/120 carrier'])
    assert.throws(() => parseNetworks(line), /line 1 names IPv4 addresses as IPv6: list them as IPv4/, line)
  assert.throws(
    () => parseNetworks('203.0.113.0/24 carrier\n203.0.113.0/24 hosting'),
    /line 2 says hosting of a network that an earlier line says carrier of/,
  )
  assert.throws(() => parseNetworks('\n'.repeat(500_001)), /at most 500000/)
})

test('the setting names a file; without it every network has the same budget', () => {
  const folder = mkdtempSync(join(tmpdir(), 'pohf-networks-'))
  try {
    const path = join(folder, 'networks.txt')
    writeFileSync(path, list)
    assert.equal(readNetworks(path)(readClientAddress('203.0.113.1')), 20)
    assert.equal(readNetworks(undefined)(readClientAddress('203.0.113.1')), 1)
    assert.throws(() => readNetworks(join(folder, 'missing')), /networks cannot be read from .*missing/)
  } finally {
    rmSync(folder, { recursive: true })
  }
})
