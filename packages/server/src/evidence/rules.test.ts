import assert from 'node:assert/strict'
import { test } from 'node:test'
import { distanceKm, isPlausibleMove, canonicalPhotoHash, walletMessage } from './rules.ts'

test('distance and speed: a flight is plausible, a jump is not', () => {
  const berlin = { lat: 52.52, lng: 13.4 }
  const newYork = { lat: 40.71, lng: -74 }
  assert.ok(Math.abs(distanceKm(berlin, newYork) - 6_385) < 30)
  const at = new Date('2026-01-01T00:00:00Z')
  const later = (hours: number) => new Date(at.getTime() + hours * 3_600_000)
  assert.equal(isPlausibleMove({ ...berlin, at }, { ...newYork, at: later(9) }), true)
  assert.equal(isPlausibleMove({ ...berlin, at }, { ...newYork, at: later(1) }), false)
  assert.equal(isPlausibleMove({ ...berlin, at }, { ...berlin, at }), true)
})

const bytes = Buffer.from('00fb'.repeat(16), 'hex')
const writings: readonly string[] = [
  bytes.toString('hex'),
  bytes.toString('hex').toUpperCase(),
  `0x${bytes.toString('hex')}`,
  `sha256:${bytes.toString('hex')}`,
  `SHA-256=${bytes.toString('base64')}`,
  bytes.toString('base64'),
  bytes.toString('base64url'),
]
test('all spellings of a hash are one photo', () => {
  for (const writing of writings)
    assert.equal(canonicalPhotoHash(writing), canonicalPhotoHash(writings[0] ?? ''), writing)
  const others = ['p1', 'P1', ' p1', 'sha256:p1', bytes.toString('hex').slice(2), 'f'.repeat(64)]
  assert.equal(new Set([...others, writings[0] ?? ''].map(canonicalPhotoHash)).size, others.length + 1)
})

test('the wallet message holds domain, address, chain, nonce and times', () => {
  const base = {
    baseUrl: 'https://proof.example',
    nonce: 'abc',
    issuedAt: new Date(0),
    expiresAt: new Date(300_000),
    agentId: 'agt_x',
  }
  const message = walletMessage({ ...base, wallet: `0x${'1'.repeat(40)}`, chainId: 8453, memberId: 'm1' })
  for (const part of [
    'proof.example wants you to sign in',
    `0x${'1'.repeat(40)}`,
    'Chain ID: 8453',
    'Nonce: abc',
    'Expiration Time: 1970-01-01T00:05:00.000Z',
    'm1',
    'agt_x',
  ])
    assert.ok(message.includes(part), part)
  assert.ok(walletMessage(base).includes('Nonce: abc'))
})
