import { createHash, createPublicKey, timingSafeEqual, verify, type KeyObject } from 'node:crypto'
import {
  EvidenceError,
  assertEvidence,
  type AttestationResult,
  type DeviceAssurance,
  type DeviceKey,
  type DeviceRoot,
} from './attestation.ts'
import { readCanonicalCbor, readCbor } from './cbor.ts'
import { chainFault, readCertificate, type Certificate } from './certificates.ts'

export type AppleTrust = {
  readonly roots: readonly Certificate[]
  /** Team and bundle ids of the accepted apps: `TEAMID1234.com.example.app`. */
  readonly appIds: readonly string[]
  readonly at: Date
  /** Also accepts TestFlight builds. */
  readonly allowTestFlight: boolean
}

const nonceExtension = '1.2.840.113635.100.8.2'
/** The extension's value before its 32 bytes: a sequence with the tag 1 around octets. */
const noncePrefix = Buffer.from('3024a1220420', 'hex')
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

const requireBytes = (value: unknown): Buffer => {
  assertEvidence(value instanceof Uint8Array, 'evidence_malformed')
  return Buffer.from(value as Uint8Array)
}
const requireMap = (value: unknown): ReadonlyMap<unknown, unknown> => {
  assertEvidence(value instanceof Map, 'evidence_malformed')
  return value as ReadonlyMap<unknown, unknown>
}

/** The leaf, after leaf and intermediate have been verified against one of the roots at this time. */
const trustedLeaf = (chain: unknown, { roots, at }: AppleTrust): Certificate => {
  assertEvidence(Array.isArray(chain) && chain.length === 2, 'certificate_chain')
  const certificates = (chain as unknown[]).map((der) => readCertificate(requireBytes(der)))
  const fault = chainFault(certificates, roots, at)
  if (fault) throw new EvidenceError(fault)
  const [leaf] = certificates
  if (!leaf || leaf.isCa) throw new EvidenceError('certificate_chain')
  return leaf
}

const pointOf = (key: KeyObject): Buffer => {
  const { crv, x = '', y = '' } = key.export({ format: 'jwk' })
  assertEvidence(crv === 'P-256', 'key_mismatch')
  return Buffer.concat([Buffer.from([4]), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')])
}

type AuthenticatorData = {
  readonly rpIdHash: Buffer
  readonly flags: number
  readonly counter: number
  readonly rest: Buffer
}
const readAuthenticatorData = (bytes: Buffer): AuthenticatorData => {
  assertEvidence(bytes.length >= 37, 'evidence_malformed')
  return {
    rpIdHash: bytes.subarray(0, 32),
    flags: bytes.readUInt8(32),
    counter: bytes.readUInt32BE(33),
    rest: bytes.subarray(37),
  }
}

const extensionFlag = 0x80
const attestedFlag = 0x40

/** App Store builds say 4, TestFlight 2; older systems do not send the extension and are accepted. */
const validationCategoryOf = (extensions: unknown): number | undefined => {
  if (extensions === undefined) return undefined
  const value = requireMap(extensions).get('apple_validation_category_01')
  if (value === undefined) return undefined
  const bytes = requireBytes(value)
  assertEvidence(bytes.length === 4, 'evidence_malformed')
  return bytes.readUInt32LE(0)
}

const requireApp = (data: AuthenticatorData, trust: AppleTrust): string => {
  const appId = trust.appIds.find((one) => same(sha256(Buffer.from(one)), data.rpIdHash))
  if (appId === undefined) throw new EvidenceError('app_unknown')
  return appId
}

const requireCategory = (category: number | undefined, trust: AppleTrust): void =>
  assertEvidence(
    category === undefined || category === 4 || (category === 2 && trust.allowTestFlight),
    'app_not_from_store',
  )

/** Reads the extensions after the credential id and the COSE key, when the flag announces them. */
const readExtensions = (bytes: Buffer, hasExtensions: boolean): unknown => {
  if (!hasExtensions) return undefined
  // Two CBOR items in sequence; prefixed as an array of two they decode together.
  const list = readCbor(Buffer.concat([Buffer.from([0x82]), bytes]))
  return (list as unknown[])[1]
}

const rootOf = (appId: string | undefined): DeviceRoot | undefined =>
  appId === undefined ? undefined : { name: appId, app: { kind: 'app', name: appId } }

type AppAttestation = {
  readonly attestationObject: Buffer
  readonly keyId: Buffer
  readonly clientDataHash: Buffer
}

/** Verifies a new app key on an Apple device, certified by Apple. */
export const verifyAppAttestation = (evidence: AppAttestation, trust: AppleTrust): AttestationResult => {
  const object = requireMap(readCanonicalCbor(evidence.attestationObject))
  assertEvidence(object.get('fmt') === 'apple-appattest', 'format_unknown')
  const leaf = trustedLeaf(requireMap(object.get('attStmt')).get('x5c'), trust)
  const authData = requireBytes(object.get('authData'))
  const nonce = leaf.extensions.get(nonceExtension) ?? Buffer.alloc(0)
  const expected = Buffer.concat([noncePrefix, sha256(authData, evidence.clientDataHash)])
  assertEvidence(same(nonce, expected), 'challenge_mismatch')
  const { publicKey } = leaf.openssl
  const point = pointOf(publicKey)
  assertEvidence(same(sha256(point), evidence.keyId), 'key_mismatch')
  const data = readAuthenticatorData(authData)
  const appId = requireApp(data, trust)
  assertEvidence(data.counter === 0, 'counter_not_zero')
  assertEvidence((data.flags & attestedFlag) !== 0 && data.rest.length >= 18, 'evidence_malformed')
  const environment = environments.get(data.rest.subarray(0, 16).toString('hex'))
  assertEvidence(environment !== undefined, 'environment_unknown')
  const idLength = data.rest.readUInt16BE(16)
  assertEvidence(same(data.rest.subarray(18, 18 + idLength), evidence.keyId), 'key_mismatch')
  const category = validationCategoryOf(
    readExtensions(data.rest.subarray(18 + idLength), (data.flags & extensionFlag) !== 0),
  )
  requireCategory(category, trust)
  const assurance: DeviceAssurance = environment === 'production' ? 'hardware' : 'software'
  const key: DeviceKey = {
    keyId: evidence.keyId.toString('base64url'),
    publicKey: publicKey.export({ format: 'der', type: 'spki' }),
    counter: 0,
    assurance,
    model: environment === 'production' ? appId : undefined,
  }
  return { attested: true, assurance, key, root: rootOf(key.model) }
}

type AppAssertion = { readonly assertion: Buffer; readonly clientData: Buffer; readonly challenge: string }

const parseJson = (bytes: Buffer): unknown => {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch (error) {
    throw new EvidenceError('evidence_malformed', { cause: error })
  }
}

/** The client data contains the challenge, as JSON; its other fields belong to the app. */
const hasChallenge = (clientData: Buffer, challenge: string): boolean => {
  const parsed = parseJson(clientData)
  return (
    typeof parsed === 'object' &&
    parsed !== null &&
    (parsed as { challenge?: unknown }).challenge === challenge
  )
}

/** Verifies a new signature by an attested key. Its counter must have increased. */
export const verifyAppAssertion = (
  evidence: AppAssertion,
  known: DeviceKey,
  trust: AppleTrust,
): AttestationResult => {
  assertEvidence(hasChallenge(evidence.clientData, evidence.challenge), 'challenge_mismatch')
  const object = requireMap(readCanonicalCbor(evidence.assertion))
  const authData = requireBytes(object.get('authenticatorData'))
  const signature = requireBytes(object.get('signature'))
  const publicKey = createPublicKey({ key: known.publicKey, format: 'der', type: 'spki' })
  const nonce = sha256(authData, sha256(evidence.clientData))
  assertEvidence(verify('sha256', nonce, publicKey, signature), 'signature_wrong')
  const data = readAuthenticatorData(authData)
  const appId = requireApp(data, trust)
  assertEvidence(data.counter > known.counter, 'counter_replayed')
  const extensions = (data.flags & extensionFlag) === 0 ? undefined : readCbor(data.rest)
  const category = validationCategoryOf(extensions)
  requireCategory(category, trust)
  const assurance = known.assurance === 'hardware' && category === 4 ? 'hardware_strong' : known.assurance
  const root = known.model === appId ? rootOf(appId) : undefined
  return { attested: true, assurance, key: { ...known, counter: data.counter }, root }
}
