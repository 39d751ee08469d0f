import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import {
  derOf,
  makeAppAssertion,
  makeAppAttestation,
  makeAppDevice,
  makeAuthority,
  sha256,
  type AppOptions,
} from '../../../test/fixtures/people/device-attestation.ts'
import { verifyAppAssertion, verifyAppAttestation, type AppleTrust } from './app-attest.ts'
import { verifyEvidence } from './attestation.ts'
import { readCertificate } from './certificates.ts'
import { loadDeviceTrust } from './attestation-trust.ts'
import type { Config } from '../../platform/ops/config.ts'

const root = await makeAuthority('Root')
const intermediate = await makeAuthority('Intermediate', root)
const stranger = await makeAuthority('Stranger')
const strangerIntermediate = await makeAuthority('Intermediate', stranger)
const appId = 'TEAM012345.com.example.app'
const challenge = 'a-challenge'
const at = new Date('2026-11-15')
const trust: AppleTrust = {
  roots: [readCertificate(derOf(root))],
  appIds: [appId],
  at,
  allowTestFlight: false,
}
const device = await makeAppDevice()
const good: AppOptions = { root, intermediate, appId, clientDataHash: sha256(challenge) }

const verifyAttestation = (
  options: Partial<AppOptions>,
  changed: Partial<AppleTrust> = {},
  keyId = device.keyId,
) =>
  verifyEvidence(async () =>
    verifyAppAttestation(
      {
        attestationObject: await makeAppAttestation(device, { ...good, ...options }),
        keyId,
        clientDataHash: good.clientDataHash,
      },
      { ...trust, ...changed },
    ),
  )

test('a key of a store build on a real device is hardware, a development one software', async () => {
  const result = await verifyAttestation({})
  assert.ok(result.attested)
  assert.equal(result.assurance, 'hardware')
  assert.equal(result.key?.keyId, device.keyId.toString('base64url'))
  const development = await verifyAttestation({ aaguid: 'appattestdevelop' })
  assert.ok(development.attested)
  assert.equal(development.assurance, 'software')
  assert.ok((await verifyAttestation({ category: 4 })).attested)
  assert.ok((await verifyAttestation({ category: 2 }, { allowTestFlight: true })).attested)
})

const other = await makeAppDevice()
const mutations: readonly (readonly [string, string, () => ReturnType<typeof verifyAttestation>])[] = [
  [
    'another root',
    'certificate_chain',
    () => verifyAttestation({}, { roots: [readCertificate(derOf(stranger))] }),
  ],
  ['no root', 'certificate_chain', () => verifyAttestation({}, { roots: [] })],
  [
    'an intermediate of the same name by another root',
    'certificate_chain',
    () => verifyAttestation({ intermediate: strangerIntermediate }),
  ],
  ['a leaf that is a CA', 'certificate_chain', () => verifyAttestation({ leaf: { ca: true } })],
  [
    'a leaf not valid yet',
    'certificate_time',
    () => verifyAttestation({ leaf: { notBefore: new Date('2027-01-01') } }),
  ],
  [
    'a leaf past its time',
    'certificate_time',
    () => verifyAttestation({ leaf: { notAfter: new Date('2026-11-14') } }),
  ],
  ['a root past its time', 'certificate_time', () => verifyAttestation({}, { at: new Date('2036-06-01') })],
  ['a time before all', 'certificate_time', () => verifyAttestation({}, { at: new Date('2025-06-01') })],
  ['another challenge', 'challenge_mismatch', () => verifyAttestation({ clientDataHash: sha256('other') })],
  ['a nonce of its own', 'challenge_mismatch', () => verifyAttestation({ nonce: sha256('any') })],
  ['a short nonce', 'challenge_mismatch', () => verifyAttestation({ nonce: Buffer.alloc(31) })],
  ['two nonces', 'evidence_malformed', () => verifyAttestation({ extraNonce: true })],
  ['another key id', 'key_mismatch', () => verifyAttestation({}, {}, other.keyId)],
  ['an empty key id', 'key_mismatch', () => verifyAttestation({}, {}, Buffer.alloc(0))],
  ['another credential id', 'key_mismatch', () => verifyAttestation({ credentialId: other.keyId })],
  ['another app', 'app_unknown', () => verifyAttestation({ appId: 'TEAM012345.com.example.other' })],
  ['no app allowed', 'app_unknown', () => verifyAttestation({}, { appIds: [] })],
  ['a counter that has moved', 'counter_not_zero', () => verifyAttestation({ counter: 1 })],
  ['an unknown environment', 'environment_unknown', () => verifyAttestation({ aaguid: 'appattestdevelo' })],
  ['a prefix of the environment', 'environment_unknown', () => verifyAttestation({ aaguid: 'appattes' })],
  ['another format', 'format_unknown', () => verifyAttestation({ fmt: 'packed' })],
  ['a TestFlight build', 'app_not_from_store', () => verifyAttestation({ category: 2 })],
  ['an unknown category', 'app_not_from_store', () => verifyAttestation({ category: 7 })],
]
for (const [name, reason, run] of mutations)
  test(`refused: ${name}`, async () => assert.deepEqual(await run(), { attested: false, reason }))

test('any changed byte or truncation is refused, never thrown', async () => {
  const whole = await makeAppAttestation(device, good)
  for (let round = 0; round < 400; round += 1) {
    const bytes = Buffer.from(whole)
    const place = (round * 7919) % bytes.length
    bytes.writeUInt8(bytes.readUInt8(place) ^ (1 + (round % 255)), place)
    const cut = round % 4 === 0 ? bytes.subarray(0, place) : bytes
    const result = await verifyEvidence(() =>
      verifyAppAttestation(
        { attestationObject: cut, keyId: device.keyId, clientDataHash: good.clientDataHash },
        trust,
      ),
    )
    // The receipt is not looked at.
    const harmless = whole.indexOf('receipt')
    const inReceipt = place >= harmless && place < harmless + 12
    if (!inReceipt) assert.equal(result.attested, false, `byte ${place} of ${bytes.length}`)
  }
})

test('the vendor’s own attestations of 2024 are valid under the built-in root at their time, and at no other', async () => {
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
    const result = await verifyEvidence(() => verifyAppAttestation(evidence, real))
    assert.ok(result.attested, JSON.stringify(result))
    assert.equal(result.assurance, assurance)
    const late = await verifyEvidence(() => verifyAppAttestation(evidence, { ...real, at }))
    assert.deepEqual(late, { attested: false, reason: 'certificate_time' })
    const own = await verifyEvidence(() => verifyAppAttestation(evidence, { ...real, roots: trust.roots }))
    assert.deepEqual(own, { attested: false, reason: 'certificate_chain' })
  }
  assert.ok(shipped.appleRoots.every(({ isCa }) => isCa))
})

test('refused: another encoding of an attestation that is valid', async () => {
  const whole = await makeAppAttestation(device, good)
  const fmt = Buffer.from('63666d74', 'hex')
  assert.equal(whole.indexOf(fmt), 1, 'the first name is fmt, with its length in one byte')
  const longer = Buffer.concat([whole.subarray(0, 1), Buffer.from('7803666d74', 'hex'), whole.subarray(5)])
  for (const attestationObject of [longer, Buffer.concat([whole, Buffer.alloc(1)])]) {
    const evidence = { attestationObject, keyId: device.keyId, clientDataHash: good.clientDataHash }
    const result = await verifyEvidence(() => verifyAppAttestation(evidence, trust))
    assert.deepEqual(result, { attested: false, reason: 'evidence_malformed' })
  }
})

const clientData = Buffer.from(JSON.stringify({ challenge, note: 'of the app' }))
const attested = await verifyAttestation({})
assert.ok(attested.attested && attested.key)
const known = attested.key
const signed = async (options: Partial<Parameters<typeof makeAppAssertion>[1]>, by = device) =>
  makeAppAssertion(by, { appId, clientData, counter: 1, ...options })
const verifyAssertion = (assertion: Buffer, data = clientData, key = known) =>
  verifyEvidence(() => verifyAppAssertion({ assertion, clientData: data, challenge }, key, trust))

test('a new signature of a store build is strong; its counter increases', async () => {
  const plain = await verifyAssertion(await signed({}))
  assert.ok(plain.attested)
  assert.equal(plain.assurance, 'hardware')
  assert.equal(plain.key?.counter, 1)
  const strong = await verifyAssertion(await signed({ category: 4 }))
  assert.ok(strong.attested)
  assert.equal(strong.assurance, 'hardware_strong')
})

test('invalid signatures are refused, each with its reason', async () => {
  const cases: readonly (readonly [string, Awaited<ReturnType<typeof verifyAssertion>>])[] = [
    ['counter_replayed', await verifyAssertion(await signed({ counter: 0 }))],
    [
      'counter_replayed',
      await verifyAssertion(await signed({ counter: 5 }), clientData, { ...known, counter: 5 }),
    ],
    ['signature_wrong', await verifyAssertion(await signed({}, other))],
    ['signature_wrong', await verifyAssertion(await signed({ clientData: Buffer.from('{}') }))],
    ['challenge_mismatch', await verifyAssertion(await signed({}), Buffer.from('{"challenge":"old"}'))],
    ['challenge_mismatch', await verifyAssertion(await signed({}), Buffer.from('null'))],
    ['evidence_malformed', await verifyAssertion(await signed({}), Buffer.from('no json'))],
    ['app_unknown', await verifyAssertion(await signed({ appId: 'TEAM012345.com.example.other' }))],
    ['app_not_from_store', await verifyAssertion(await signed({ category: 2 }))],
    ['evidence_malformed', await verifyAssertion(Buffer.from('a0', 'hex'))],
  ]
  for (const [reason, result] of cases) assert.deepEqual(result, { attested: false, reason })
})
