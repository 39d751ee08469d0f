import assert from 'node:assert/strict'
import { generateKeyPairSync, randomBytes, type KeyObject } from 'node:crypto'
import { test } from 'node:test'
import { CompactEncrypt, CompactSign } from 'jose'
import { verifyEvidence } from './attestation.ts'
import { verifyPlayIntegrity, type PlayTrust } from './play-integrity.ts'

const makeKeys = () => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { privateKey, aes: randomBytes(32), der: publicKey.export({ format: 'der', type: 'spki' }) }
}
const keys = makeKeys()
const other = makeKeys()
const at = new Date('2026-11-15T12:00:00Z')
const name = 'com.example.app'
const digest = randomBytes(32).toString('base64url')
const challenge = 'a-challenge'
const trust: PlayTrust = {
  keysOf: (asked) => (asked === name ? { decryptionKey: keys.aes, verificationKey: keys.der } : undefined),
  packages: [{ name, certificateDigests: [digest] }],
  at,
}

type Token = {
  readonly by?: KeyObject
  readonly alg?: string
  readonly under?: Buffer
  readonly enc?: string
  readonly keyAlg?: string
  readonly payload?: Record<string, unknown>
}
const request = { requestPackageName: name, nonce: challenge, timestampMillis: String(at.getTime() - 1_000) }
const app = { appRecognitionVerdict: 'PLAY_RECOGNIZED', packageName: name, certificateSha256Digest: [digest] }
const device = (...labels: string[]) => ({ deviceRecognitionVerdict: labels })
const strong = device('MEETS_BASIC_INTEGRITY', 'MEETS_DEVICE_INTEGRITY', 'MEETS_STRONG_INTEGRITY')
const licensed = { appLicensingVerdict: 'LICENSED' }
const validPayload = {
  requestDetails: request,
  appIntegrity: app,
  deviceIntegrity: strong,
  accountDetails: licensed,
}

const make = async (token: Token): Promise<string> => {
  const signed = await new CompactSign(Buffer.from(JSON.stringify({ ...validPayload, ...token.payload })))
    .setProtectedHeader({ alg: token.alg ?? 'ES256' })
    .sign(token.by ?? keys.privateKey)
  return new CompactEncrypt(Buffer.from(signed))
    .setProtectedHeader({ alg: token.keyAlg ?? 'A256KW', enc: token.enc ?? 'A256GCM' })
    .encrypt(token.under ?? keys.aes)
}
type EvidenceOverrides = Partial<Parameters<typeof verifyPlayIntegrity>[0]>
const verifyToken = async (token: Token, asked: EvidenceOverrides = {}, changed: Partial<PlayTrust> = {}) => {
  const integrityToken = asked.integrityToken ?? (await make(token))
  return verifyEvidence(() =>
    verifyPlayIntegrity(
      { packageName: name, requestType: 'classic', challenge, ...asked, integrityToken },
      { ...trust, ...changed },
    ),
  )
}
const withDevice = (...labels: string[]): Token => ({ payload: { deviceIntegrity: device(...labels) } })
const withRequest = (change: object): Token => ({ payload: { requestDetails: { ...request, ...change } } })
const withApp = (change: object): Token => ({ payload: { appIntegrity: { ...app, ...change } } })

test('the label decides the assurance of a device', async () => {
  const attested = { attested: true, root: undefined }
  assert.deepEqual(await verifyToken({}), { ...attested, assurance: 'hardware_strong' })
  const middle = await verifyToken(withDevice('MEETS_BASIC_INTEGRITY', 'MEETS_DEVICE_INTEGRITY'))
  assert.deepEqual(middle, { ...attested, assurance: 'hardware' })
  const basic = await verifyToken(withDevice('MEETS_BASIC_INTEGRITY'))
  assert.deepEqual(basic, { ...attested, assurance: 'software' })
  const standard = await verifyToken(withRequest({ nonce: undefined, requestHash: challenge }), {
    requestType: 'standard',
  })
  assert.deepEqual(standard, { ...attested, assurance: 'hardware_strong' })
})

const rootAt = async (deviceActivityLevel: string | undefined, labels = strong) => {
  const recentDeviceActivity = deviceActivityLevel === undefined ? undefined : { deviceActivityLevel }
  const result = await verifyToken({ payload: { deviceIntegrity: { ...labels, recentDeviceActivity } } })
  return result.attested ? result.root : result.reason
}
test('a verdict shows a root only for hardware that answered few requests in the last hour', async () => {
  const root = { name, app: { kind: 'app', name } }
  for (const level of ['LEVEL_1', 'LEVEL_2']) assert.deepEqual(await rootAt(level), root, level)
  for (const level of ['LEVEL_3', 'LEVEL_4', 'UNEVALUATED', undefined])
    assert.equal(await rootAt(level), undefined, level)
  assert.equal(await rootAt('LEVEL_1', device('MEETS_BASIC_INTEGRITY')), undefined)
})

const signature = generateKeyPairSync('ed25519').privateKey
const mutations: readonly (readonly [string, string, () => ReturnType<typeof verifyToken>])[] = [
  ['signed by another', 'token_unreadable', () => verifyToken({ by: other.privateKey })],
  ['encrypted under another key', 'token_unreadable', () => verifyToken({ under: other.aes })],
  ['another signature algorithm', 'token_unreadable', () => verifyToken({ by: signature, alg: 'EdDSA' })],
  ['another content encryption', 'token_unreadable', () => verifyToken({ enc: 'A128CBC-HS256' })],
  ['a key used directly', 'token_unreadable', () => verifyToken({ keyAlg: 'dir' })],
  ['no token', 'token_unreadable', () => verifyToken({}, { integrityToken: 'x' })],
  [
    'no encryption',
    'token_unreadable',
    () => verifyToken({}, { integrityToken: 'eyJhbGciOiJub25lIn0.e30.' }),
  ],
  ['no verdict inside', 'token_unreadable', () => verifyToken({ payload: { requestDetails: null } })],
  [
    'a package that is not listed',
    'app_unknown',
    () => verifyToken({}, { packageName: 'com.example.other' }),
  ],
  ['a package without keys', 'app_unknown', () => verifyToken({}, {}, { keysOf: () => undefined })],
  [
    'a request of another package',
    'app_unknown',
    () => verifyToken(withRequest({ requestPackageName: 'com.evil' })),
  ],
  ['an app of another package', 'app_unknown', () => verifyToken(withApp({ packageName: 'com.evil' }))],
  ['another nonce', 'challenge_mismatch', () => verifyToken(withRequest({ nonce: 'old' }))],
  ['no nonce', 'challenge_mismatch', () => verifyToken(withRequest({ nonce: undefined }))],
  [
    'a hash where a nonce belongs',
    'challenge_mismatch',
    () => verifyToken(withRequest({ nonce: undefined, requestHash: challenge })),
  ],
  ['a nonce where a hash belongs', 'challenge_mismatch', () => verifyToken({}, { requestType: 'standard' })],
  [
    'six minutes old',
    'token_stale',
    () => verifyToken(withRequest({ timestampMillis: String(at.getTime() - 360_000) })),
  ],
  [
    'from the future',
    'token_stale',
    () => verifyToken(withRequest({ timestampMillis: String(at.getTime() + 120_000) })),
  ],
  [
    'an app not from the store',
    'app_not_from_store',
    () => verifyToken(withApp({ appRecognitionVerdict: 'UNRECOGNIZED_VERSION' })),
  ],
  [
    'an unevaluated app',
    'app_not_from_store',
    () => verifyToken(withApp({ appRecognitionVerdict: 'UNEVALUATED' })),
  ],
  [
    'another signer of the app',
    'app_signer_unknown',
    () => verifyToken(withApp({ certificateSha256Digest: ['x'] })),
  ],
  [
    'a second, unknown signer',
    'app_signer_unknown',
    () => verifyToken(withApp({ certificateSha256Digest: [digest, 'x'] })),
  ],
  ['no signer', 'app_signer_unknown', () => verifyToken(withApp({ certificateSha256Digest: [] }))],
  [
    'an unlicensed copy',
    'app_unlicensed',
    () => verifyToken({ payload: { accountDetails: { appLicensingVerdict: 'UNLICENSED' } } }),
  ],
  [
    'an emulator',
    'device_virtual',
    () => verifyToken(withDevice('MEETS_VIRTUAL_INTEGRITY', 'MEETS_BASIC_INTEGRITY')),
  ],
  ['no label', 'device_unrecognised', () => verifyToken(withDevice())],
  ['an unknown label', 'device_unrecognised', () => verifyToken(withDevice('MEETS_MY_INTEGRITY'))],
]
for (const [name, reason, run] of mutations)
  test(`refused: ${name}`, async () => assert.deepEqual(await run(), { attested: false, reason }))

test('refused: a token that is written in another way', async () => {
  const token = await make({})
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const last = alphabet.indexOf(token.at(-1) ?? '')
  // The tag has 16 bytes, so the last four bits of its last character mean nothing.
  const spare = `${token.slice(0, -1)}${alphabet.at(last + 1)}`
  assert.deepEqual(Buffer.from(spare, 'base64url'), Buffer.from(token, 'base64url'))
  for (const integrityToken of [spare, `${token}=`, `${token} `, token.replace('.', '. ')])
    assert.deepEqual(await verifyToken({}, { integrityToken }), {
      attested: false,
      reason: 'token_unreadable',
    })
})
