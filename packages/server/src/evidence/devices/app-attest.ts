import {
  createHash,
  createPublicKey,
  timingSafeEqual,
  verify,
  X509Certificate,
  type KeyObject,
} from 'node:crypto'
import { decodeCBOR } from '@levischuck/tiny-cbor'
import {
  EvidenceRefused,
  demand,
  type Attested,
  type DeviceAssurance,
  type DeviceKey,
} from './attestation.ts'
import { chainFault } from './certificates.ts'
import { extensionOf, unwrap } from './der.ts'

export type AppleTrust = {
  readonly roots: readonly X509Certificate[]
  /** Team and bundle of the apps that may vouch: `TEAMID1234.com.example.app`. */
  readonly appIds: readonly string[]
  readonly at: Date
  /** Builds handed out for testing may vouch too. */
  readonly allowTestFlight: boolean
}

const nonceExtension = '1.2.840.113635.100.8.2'
const environments: ReadonlyMap<string, 'production' | 'development'> = new Map([
  [Buffer.from('appattest\0\0\0\0\0\0\0').toString('hex'), 'production'],
  [Buffer.from('appattestdevelop').toString('hex'), 'development'],
])

const sha256 = (...parts: readonly Uint8Array[]): Buffer => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}
const same = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && timingSafeEqual(a, b)

const bytesOf = (value: unknown): Buffer => {
  demand(value instanceof Uint8Array, 'evidence_malformed')
  return Buffer.from(value as Uint8Array)
}
const mapOf = (value: unknown): ReadonlyMap<unknown, unknown> => {
  demand(value instanceof Map, 'evidence_malformed')
  return value as ReadonlyMap<unknown, unknown>
}

/** The leaf, once leaf, intermediate and one of the roots hang together at this time. */
const trustedLeaf = (chain: unknown, { roots, at }: AppleTrust): X509Certificate => {
  demand(Array.isArray(chain) && chain.length === 2, 'certificate_chain')
  const certificates = (chain as unknown[]).map((der) => new X509Certificate(bytesOf(der)))
  const fault = chainFault(certificates, roots, at)
  if (fault) throw new EvidenceRefused(fault)
  const [leaf] = certificates
  if (!leaf || leaf.ca) throw new EvidenceRefused('certificate_chain')
  return leaf
}

const pointOf = (key: KeyObject): Buffer => {
  const { x = '', y = '' } = key.export({ format: 'jwk' })
  return Buffer.concat([Buffer.from([4]), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')])
}

type AuthenticatorData = {
  readonly rpIdHash: Buffer
  readonly flags: number
  readonly counter: number
  readonly rest: Buffer
}
const readAuthenticatorData = (bytes: Buffer): AuthenticatorData => {
  demand(bytes.length >= 37, 'evidence_malformed')
  return {
    rpIdHash: bytes.subarray(0, 32),
    flags: bytes.readUInt8(32),
    counter: bytes.readUInt32BE(33),
    rest: bytes.subarray(37),
  }
}

const extensionFlag = 0x80
const attestedFlag = 0x40

/** App Store builds say 4, TestFlight 2; systems before this extension say nothing and are taken as they are. */
const categoryOf = (extensions: unknown): number | undefined => {
  if (extensions === undefined) return undefined
  const value = mapOf(extensions).get('apple_validation_category_01')
  return value === undefined ? undefined : bytesOf(value).readUInt32LE(0)
}

const requireApp = (data: AuthenticatorData, trust: AppleTrust): void =>
  demand(
    trust.appIds.some((appId) => same(sha256(Buffer.from(appId)), data.rpIdHash)),
    'app_unknown',
  )

const requireCategory = (category: number | undefined, trust: AppleTrust): void =>
  demand(
    category === undefined || category === 4 || (category === 2 && trust.allowTestFlight),
    'app_not_from_store',
  )

/** What follows the credential id: the COSE key, then extensions where the flag says so. */
const readTail = (bytes: Buffer, hasExtensions: boolean): unknown => {
  if (!hasExtensions) return undefined
  // Both are CBOR items in a row; as a list of two they decode in one go.
  const list = decodeCBOR(new Uint8Array(Buffer.concat([Buffer.from([0x82]), bytes])))
  return (list as unknown[])[1]
}

type NewKey = { readonly attestationObject: Buffer; readonly keyId: Buffer; readonly clientDataHash: Buffer }

/** A new key of an app on an Apple device, vouched for by Apple's certificates. */
export const verifyAppAttestation = (evidence: NewKey, trust: AppleTrust): Attested => {
  const object = mapOf(decodeCBOR(new Uint8Array(evidence.attestationObject)))
  demand(object.get('fmt') === 'apple-appattest', 'format_unknown')
  const leaf = trustedLeaf(mapOf(object.get('attStmt')).get('x5c'), trust)
  const authData = bytesOf(object.get('authData'))
  const carried = extensionOf(leaf.raw, nonceExtension)
  // The extension wraps its bytes four times: octets, sequence, tag 1, octets. The first is already gone.
  demand(
    carried !== undefined && same(unwrap(carried, 3), sha256(authData, evidence.clientDataHash)),
    'challenge_mismatch',
  )
  const point = pointOf(leaf.publicKey)
  demand(point.length === 65 && same(sha256(point), evidence.keyId), 'key_mismatch')
  const data = readAuthenticatorData(authData)
  requireApp(data, trust)
  demand(data.counter === 0, 'counter_not_zero')
  demand((data.flags & attestedFlag) !== 0 && data.rest.length >= 18, 'evidence_malformed')
  const environment = environments.get(data.rest.subarray(0, 16).toString('hex'))
  demand(environment !== undefined, 'environment_unknown')
  const idLength = data.rest.readUInt16BE(16)
  demand(same(data.rest.subarray(18, 18 + idLength), evidence.keyId), 'key_mismatch')
  const category = categoryOf(readTail(data.rest.subarray(18 + idLength), (data.flags & extensionFlag) !== 0))
  requireCategory(category, trust)
  const assurance: DeviceAssurance = environment === 'production' ? 'hardware' : 'software'
  const key: DeviceKey = {
    keyId: evidence.keyId.toString('base64url'),
    publicKey: leaf.publicKey.export({ format: 'der', type: 'spki' }),
    counter: 0,
    assurance,
  }
  return { attested: true, assurance, key }
}

type Signed = { readonly assertion: Buffer; readonly clientData: Buffer; readonly challenge: string }

/** The client data names the challenge, as JSON; anything else in it is the app's own. */
const namesChallenge = (clientData: Buffer, challenge: string): boolean => {
  const parsed: unknown = JSON.parse(clientData.toString('utf8'))
  return (
    typeof parsed === 'object' &&
    parsed !== null &&
    (parsed as { challenge?: unknown }).challenge === challenge
  )
}

/** A fresh signature by a key that was attested before. Its counter must have moved on. */
export const verifyAppAssertion = (evidence: Signed, known: DeviceKey, trust: AppleTrust): Attested => {
  demand(namesChallenge(evidence.clientData, evidence.challenge), 'challenge_mismatch')
  const object = mapOf(decodeCBOR(new Uint8Array(evidence.assertion)))
  const authData = bytesOf(object.get('authenticatorData'))
  const signature = bytesOf(object.get('signature'))
  const publicKey = createPublicKey({ key: known.publicKey, format: 'der', type: 'spki' })
  const nonce = sha256(authData, sha256(evidence.clientData))
  demand(verify('sha256', nonce, publicKey, signature), 'signature_wrong')
  const data = readAuthenticatorData(authData)
  requireApp(data, trust)
  demand(data.counter > known.counter, 'counter_replayed')
  const extensions = (data.flags & extensionFlag) === 0 ? undefined : decodeCBOR(new Uint8Array(data.rest))
  const category = categoryOf(extensions)
  requireCategory(category, trust)
  const assurance = known.assurance === 'hardware' && category === 4 ? 'hardware_strong' : known.assurance
  return { attested: true, assurance, key: { ...known, counter: data.counter } }
}
