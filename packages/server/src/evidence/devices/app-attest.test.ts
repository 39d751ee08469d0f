import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import {
  assertApp,
  attestApp,
  makeAppDevice,
  makeAuthority,
  nodeCertificate,
  sha256,
  type AppOptions,
} from '../../../test/fixtures/people/device-attestation.ts'
import { verifyAppAssertion, verifyAppAttestation, type AppleTrust } from './app-attest.ts'
import { judgeEvidence } from './attestation.ts'
import { loadDeviceTrust } from './attestation-trust.ts'
import type { Config } from '../../platform/ops/config.ts'

const root = await makeAuthority('Root')
const intermediate = await makeAuthority('Intermediate', root)
const stranger = await makeAuthority('Stranger')
const strangersOwn = await makeAuthority('Intermediate', stranger)
const appId = 'TEAM012345.com.example.app'
const challenge = 'a-challenge'
const at = new Date('2026-11-15')
const trust: AppleTrust = { roots: [nodeCertificate(root)], appIds: [appId], at, allowTestFlight: false }
const device = await makeAppDevice()
const good: AppOptions = { root, intermediate, appId, clientDataHash: sha256(challenge) }

const judge = (options: Partial<AppOptions>, changed: Partial<AppleTrust> = {}, keyId = device.keyId) =>
  judgeEvidence(async () =>
    verifyAppAttestation(
      {
        attestationObject: await attestApp(device, { ...good, ...options }),
        keyId,
        clientDataHash: good.clientDataHash,
      },
      { ...trust, ...changed },
    ),
  )

test('a key of a store build on a real device is hardware, a development one software', async () => {
  const judged = await judge({})
  assert.ok(judged.attested)
  assert.equal(judged.assurance, 'hardware')
  assert.equal(judged.key?.keyId, device.keyId.toString('base64url'))
  const development = await judge({ aaguid: 'appattestdevelop' })
  assert.ok(development.attested)
  assert.equal(development.assurance, 'software')
  assert.ok((await judge({ category: 4 })).attested)
  assert.ok((await judge({ category: 2 }, { allowTestFlight: true })).attested)
})

const other = await makeAppDevice()
const mutations: readonly (readonly [string, string, () => ReturnType<typeof judge>])[] = [
  ['another root', 'certificate_chain', () => judge({}, { roots: [nodeCertificate(stranger)] })],
  ['no root', 'certificate_chain', () => judge({}, { roots: [] })],
  [
    'an intermediate of the same name by another root',
    'certificate_chain',
    () => judge({ intermediate: strangersOwn }),
  ],
  ['a leaf that is a CA', 'certificate_chain', () => judge({ leaf: { ca: true } })],
  ['a leaf not valid yet', 'certificate_time', () => judge({ leaf: { notBefore: new Date('2027-01-01') } })],
  ['a leaf past its time', 'certificate_time', () => judge({ leaf: { notAfter: new Date('2026-11-14') } })],
  ['a root past its time', 'certificate_time', () => judge({}, { at: new Date('2036-06-01') })],
  ['a time before all', 'certificate_time', () => judge({}, { at: new Date('2025-06-01') })],
  ['another challenge', 'challenge_mismatch', () => judge({ clientDataHash: sha256('other') })],
  ['a nonce of its own', 'challenge_mismatch', () => judge({ nonce: sha256('any') })],
  ['a short nonce', 'challenge_mismatch', () => judge({ nonce: Buffer.alloc(31) })],
  ['two nonces', 'challenge_mismatch', () => judge({ extraNonce: true })],
  ['another key id', 'key_mismatch', () => judge({}, {}, other.keyId)],
  ['an empty key id', 'key_mismatch', () => judge({}, {}, Buffer.alloc(0))],
  ['another credential id', 'key_mismatch', () => judge({ credentialId: other.keyId })],
  ['another app', 'app_unknown', () => judge({ appId: 'TEAM012345.com.example.other' })],
  ['no app allowed', 'app_unknown', () => judge({}, { appIds: [] })],
  ['a counter that has moved', 'counter_not_zero', () => judge({ counter: 1 })],
  ['an unknown environment', 'environment_unknown', () => judge({ aaguid: 'appattestdevelo' })],
  ['a prefix of the environment', 'environment_unknown', () => judge({ aaguid: 'appattes' })],
  ['another format', 'format_unknown', () => judge({ fmt: 'packed' })],
  ['a TestFlight build', 'app_not_from_store', () => judge({ category: 2 })],
  ['an unknown category', 'app_not_from_store', () => judge({ category: 7 })],
]
for (const [name, reason, run] of mutations)
  test(`refused: ${name}`, async () => assert.deepEqual(await run(), { attested: false, reason }))

test('any byte changed, any end cut off: refused, never thrown', async () => {
  const whole = await attestApp(device, good)
  for (let round = 0; round < 400; round += 1) {
    const bytes = Buffer.from(whole)
    const place = (round * 7919) % bytes.length
    bytes.writeUInt8(bytes.readUInt8(place) ^ (1 + (round % 255)), place)
    const cut = round % 4 === 0 ? bytes.subarray(0, place) : bytes
    const judged = await judgeEvidence(() =>
      verifyAppAttestation(
        { attestationObject: cut, keyId: device.keyId, clientDataHash: good.clientDataHash },
        trust,
      ),
    )
    // The receipt is not looked at, and the COSE copy of the key is not what counts: the certificate is.
    const harmless = whole.indexOf('receipt')
    const inCose = place > whole.lastIndexOf(device.keyId) + 31
    const inReceipt = place >= harmless && place < harmless + 12
    if (!inCose && !inReceipt) assert.equal(judged.attested, false, `byte ${place} of ${bytes.length}`)
  }
})

test('the vendor’s own attestations of 2024 hold under the shipped root at their time, and not at another', async () => {
  const folder = createRequire(import.meta.url)
    .resolve('node-app-attest/package.json')
    .replace(/package\.json$/, '')
  const shipped = await loadDeviceTrust({} as Config, at)
  const real = {
    roots: shipped.appleRoots,
    appIds: ['V8H6LQ9448.io.uebelacker.AppAttestExample'],
    at: new Date('2024-03-01'),
    allowTestFlight: false,
  }
  for (const [environment, assurance] of [
    ['production', 'hardware'],
    ['development', 'software'],
  ] as const) {
    const fixture = JSON.parse(
      readFileSync(`${folder}test/fixtures/attestation-${environment}.json`, 'utf8'),
    ) as {
      attestation: string
      challenge: string
      keyId: string
    }
    const evidence = {
      attestationObject: Buffer.from(fixture.attestation, 'base64'),
      keyId: Buffer.from(fixture.keyId, 'base64'),
      clientDataHash: sha256(Buffer.from(fixture.challenge, 'base64')),
    }
    const judged = await judgeEvidence(() => verifyAppAttestation(evidence, real))
    assert.ok(judged.attested, JSON.stringify(judged))
    assert.equal(judged.assurance, assurance)
    const late = await judgeEvidence(() => verifyAppAttestation(evidence, { ...real, at }))
    assert.deepEqual(late, { attested: false, reason: 'certificate_time' })
    const own = await judgeEvidence(() => verifyAppAttestation(evidence, { ...real, roots: trust.roots }))
    assert.deepEqual(own, { attested: false, reason: 'certificate_chain' })
  }
  assert.ok(shipped.appleRoots.every((one) => one instanceof X509Certificate))
})

const clientData = Buffer.from(JSON.stringify({ challenge, note: 'of the app' }))
const attested = await judge({})
assert.ok(attested.attested && attested.key)
const known = attested.key
const signed = async (options: Partial<Parameters<typeof assertApp>[1]>, by = device) =>
  assertApp(by, { appId, clientData, counter: 1, ...options })
const judgeSigned = (assertion: Buffer, data = clientData, key = known) =>
  judgeEvidence(() => verifyAppAssertion({ assertion, clientData: data, challenge }, key, trust))

test('a fresh signature of a store build is strong; its counter moves on', async () => {
  const plain = await judgeSigned(await signed({}))
  assert.ok(plain.attested)
  assert.equal(plain.assurance, 'hardware')
  assert.equal(plain.key?.counter, 1)
  const strong = await judgeSigned(await signed({ category: 4 }))
  assert.ok(strong.attested)
  assert.equal(strong.assurance, 'hardware_strong')
})

test('signatures that do not hold are refused, each for its reason', async () => {
  const cases: readonly (readonly [string, Awaited<ReturnType<typeof judgeSigned>>])[] = [
    ['counter_replayed', await judgeSigned(await signed({ counter: 0 }))],
    [
      'counter_replayed',
      await judgeSigned(await signed({ counter: 5 }), clientData, { ...known, counter: 5 }),
    ],
    ['signature_wrong', await judgeSigned(await signed({}, other))],
    ['signature_wrong', await judgeSigned(await signed({ clientData: Buffer.from('{}') }))],
    ['challenge_mismatch', await judgeSigned(await signed({}), Buffer.from('{"challenge":"old"}'))],
    ['challenge_mismatch', await judgeSigned(await signed({}), Buffer.from('null'))],
    ['evidence_malformed', await judgeSigned(await signed({}), Buffer.from('no json'))],
    ['app_unknown', await judgeSigned(await signed({ appId: 'TEAM012345.com.example.other' }))],
    ['app_not_from_store', await judgeSigned(await signed({ category: 2 }))],
    ['evidence_malformed', await judgeSigned(Buffer.from('a0', 'hex'))],
  ]
  for (const [reason, judged] of cases) assert.deepEqual(judged, { attested: false, reason })
})
