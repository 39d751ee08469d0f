import 'reflect-metadata'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { decodeCBOR, encodeCBOR, type CBORType } from '@levischuck/tiny-cbor'
import { CompactEncrypt, CompactSign } from 'jose'
import {
  verifyAppAssertion,
  verifyAppAttestation,
  type AppleTrust,
} from '../../src/evidence/devices/app-attest.ts'
import {
  EvidenceError,
  type AttestationResult,
  type DeviceKey,
} from '../../src/evidence/devices/attestation.ts'
import { readCanonicalCbor } from '../../src/evidence/devices/cbor.ts'
import { chainFault, readCertificate } from '../../src/evidence/devices/certificates.ts'
import { verifyPlayIntegrity, type PlayTrust } from '../../src/evidence/devices/play-integrity.ts'
import {
  derOf,
  makeAppAssertion,
  makeAppAttestation,
  makeAppDevice,
  makeAuthority,
  sha256,
} from '../fixtures/people/device-attestation.ts'
import { sameParts, type Input, type Outcome, type Target } from './target.ts'

const at = new Date('2026-11-15T12:00:00Z')
const challenge = 'a-challenge'

/** `EvidenceError` is the one refusal that these parsers throw. */
const refusalOf = (error: unknown): 'refused' => {
  if (error instanceof EvidenceError) return 'refused'
  throw error
}
const isAttested = async (verify: () => Promise<AttestationResult> | AttestationResult): Promise<boolean> => {
  try {
    return (await verify()).attested
  } catch (error) {
    return refusalOf(error) !== 'refused'
  }
}

/** The parts of an app's evidence that are signed: everything but the receipt and members that nobody reads. */
const signedParts = (bytes: Buffer, read: (map: Map<unknown, unknown>) => unknown[]): string =>
  Buffer.from(
    encodeCBOR(read(decodeCBOR(new Uint8Array(bytes)) as Map<unknown, unknown>) as CBORType),
  ).toString('hex')
const attestationParts = (bytes: Buffer): string =>
  signedParts(bytes, (map) => [
    map.get('fmt'),
    map.get('authData'),
    (map.get('attStmt') as Map<string, unknown>).get('x5c'),
  ])
const assertionParts = (bytes: Buffer): string =>
  signedParts(bytes, (map) => [map.get('authenticatorData'), map.get('signature')])

const certificateTarget = async (): Promise<Target> => {
  const root = await makeAuthority('Root')
  const intermediate = await makeAuthority('Intermediate', root)
  const third = await makeAuthority('Third', intermediate)
  const roots = [readCertificate(derOf(root))]
  return {
    name: 'certificates',
    forms: { leaf: 'bytes', issuer: 'bytes' },
    seeds: [{ leaf: derOf(third), issuer: derOf(intermediate) }],
    run: (input, seed): Outcome => {
      try {
        const chain = [input['leaf'], input['issuer']].map((der) => readCertificate(der ?? Buffer.alloc(0)))
        if (chainFault(chain, roots, at) !== undefined) return 'refused'
      } catch (error) {
        return refusalOf(error)
      }
      return sameParts(input, seed) ? 'equal' : 'accepted'
    },
  }
}

const partOf = (input: Input, name: string): Buffer => input[name] ?? Buffer.alloc(0)

const appTargets = async (): Promise<Target[]> => {
  const root = await makeAuthority('Root')
  const intermediate = await makeAuthority('Intermediate', root)
  const appId = 'TEAM012345.com.example.app'
  const trust: AppleTrust = {
    roots: [readCertificate(derOf(root))],
    appIds: [appId],
    at,
    allowTestFlight: false,
  }
  const device = await makeAppDevice()
  const options = { root, intermediate, appId, clientDataHash: sha256(challenge) }
  const attest = (attestationObject: Buffer, keyId: Buffer) =>
    verifyAppAttestation({ attestationObject, keyId, clientDataHash: options.clientDataHash }, trust)
  const attestations = await Promise.all(
    [{}, { category: 4 }, { aaguid: 'appattestdevelop' }].map((more) =>
      makeAppAttestation(device, { ...options, ...more }),
    ),
  )
  const [first = Buffer.alloc(0)] = attestations
  const attested = attest(first, device.keyId)
  if (!attested.attested || !attested.key) throw new Error('the attestation of the seed is not believed')
  const known: DeviceKey = attested.key
  const clientData = Buffer.from(JSON.stringify({ challenge, note: 'of the app' }))
  const assertions = await Promise.all(
    [{}, { category: 4 }].map((more) => makeAppAssertion(device, { appId, clientData, counter: 1, ...more })),
  )
  return [
    {
      name: 'app-attest attestation',
      forms: { object: 'bytes', keyId: 'bytes' },
      seeds: attestations.map((object) => ({ object, keyId: device.keyId })),
      run: async (input, seed) => {
        const object = partOf(input, 'object')
        if (!(await isAttested(() => attest(object, partOf(input, 'keyId'))))) return 'refused'
        const isEqual =
          sameParts(input, seed, ['keyId']) &&
          attestations.some((each) => attestationParts(each) === attestationParts(object))
        return isEqual ? 'equal' : 'accepted'
      },
    },
    {
      name: 'app-attest assertion',
      forms: { assertion: 'bytes', clientData: 'json' },
      seeds: assertions.map((assertion) => ({ assertion, clientData })),
      run: async (input, seed) => {
        const assertion = partOf(input, 'assertion')
        const evidence = { assertion, clientData: partOf(input, 'clientData'), challenge }
        if (!(await isAttested(() => verifyAppAssertion(evidence, known, trust)))) return 'refused'
        const isEqual =
          sameParts(input, seed, ['clientData']) &&
          assertions.some((each) => assertionParts(each) === assertionParts(assertion))
        return isEqual ? 'equal' : 'accepted'
      },
    },
  ]
}

const playTarget = async (): Promise<Target> => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const aes = randomBytes(32)
  const name = 'com.example.app'
  const digest = randomBytes(32).toString('base64url')
  const keys = { decryptionKey: aes, verificationKey: publicKey.export({ format: 'der', type: 'spki' }) }
  const trust: PlayTrust = {
    keysOf: (asked) => (asked === name ? keys : undefined),
    packages: [{ name, certificateDigests: [digest] }],
    at,
  }
  const payload = {
    requestDetails: { requestPackageName: name, nonce: challenge, timestampMillis: String(at.getTime()) },
    appIntegrity: {
      appRecognitionVerdict: 'PLAY_RECOGNIZED',
      packageName: name,
      certificateSha256Digest: [digest],
    },
    deviceIntegrity: { deviceRecognitionVerdict: ['MEETS_DEVICE_INTEGRITY'] },
  }
  const signed = await new CompactSign(Buffer.from(JSON.stringify(payload)))
    .setProtectedHeader({ alg: 'ES256' })
    .sign(privateKey)
  const token = await new CompactEncrypt(Buffer.from(signed))
    .setProtectedHeader({ alg: 'A256KW', enc: 'A256GCM' })
    .encrypt(aes)
  return {
    name: 'play-integrity',
    forms: { token: 'text' },
    seeds: [{ token: Buffer.from(token) }],
    run: async (input, seed) => {
      const integrityToken = partOf(input, 'token').toString('latin1')
      const evidence = { integrityToken, packageName: name, requestType: 'classic', challenge } as const
      if (!(await isAttested(() => verifyPlayIntegrity(evidence, trust)))) return 'refused'
      return sameParts(input, seed) ? 'equal' : 'accepted'
    },
  }
}

const cborTarget = (): Target => {
  const seeds = [
    new Map<string, CBORType>([
      ['fmt', 'none'],
      ['attStmt', new Map<string, CBORType>([['alg', -7]])],
      ['authData', new Uint8Array(randomBytes(64))],
    ]),
    new Map<number, CBORType>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, new Uint8Array(randomBytes(32))],
      [-3, new Uint8Array(randomBytes(300))],
    ]),
    [1, [2, [3, ['text', false, null]]], 65_536, -70_000],
  ].map((value) => ({ item: Buffer.from(encodeCBOR(value as CBORType)) }))
  return {
    name: 'cbor',
    forms: { item: 'bytes' },
    seeds,
    // Whatever is read must have one encoding: two texts that say the same would be taken for different evidence.
    run: (input, seed): Outcome => {
      try {
        const value = readCanonicalCbor(partOf(input, 'item'))
        if (sameParts(input, seed)) return 'equal'
        const before = JSON.stringify(plain(readCanonicalCbor(partOf(seed, 'item'))))
        return JSON.stringify(plain(value)) === before ? 'accepted' : 'refused'
      } catch (error) {
        return refusalOf(error)
      }
    },
  }
}
/** The seeds are flat; what is deeper than this is no seed. */
const depthMax = 50
/** As text: maps, bytes and numbers that JSON has no form for. */
const plain = (value: unknown, depth = 0): unknown => {
  if (depth > depthMax) return 'deep'
  const inside = (inner: unknown): unknown => plain(inner, depth + 1)
  if (value instanceof Map) return ['map', ...[...value].map(([key, inner]) => [inside(key), inside(inner)])]
  if (value instanceof Uint8Array) return `h'${Buffer.from(value).toString('hex')}'`
  if (Array.isArray(value)) return value.map(inside)
  if (typeof value === 'object' && value !== null && 'tag' in value && 'value' in value)
    return ['tag', String(value.tag), inside(value.value)]
  return typeof value === 'string' ? `"${value}"` : String(value)
}

export const deviceTargets = async (): Promise<Target[]> => [
  await certificateTarget(),
  ...(await appTargets()),
  await playTarget(),
  cborTarget(),
]
