import {
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
  type AuthenticationResponseJSON,
  type RegistrationResponseJSON,
} from '@simplewebauthn/server'
import type { AttestationResult, AttestedAssurance, DeviceKey, DeviceRoot } from './attestation.ts'
import { readCanonicalCbor, readCbor } from './cbor.ts'
import { isDerCertificate, isDerSignature } from './certificates.ts'

export type RelyingParty = {
  readonly origins: readonly string[]
  readonly rpIds: readonly string[]
  /** Whether user verification (biometrics or PIN) is required, not only presence. */
  readonly requiresUserVerification: boolean
}
/** What trusted metadata says of a model: its certification level, 0 without one, and where it keeps its keys. */
export type AuthenticatorModel = { readonly level: number; readonly keyProtection: readonly string[] }
/** The model with this AAGUID; undefined when no trusted statement names it. */
export type FindModel = (aaguid: string) => AuthenticatorModel | undefined

/**
 * Whether a model keeps its keys in hardware: a certificate of level 2 or above says so, or metadata whose key protection
 * names no software. A certificate of level 1 alone says nothing of it.
 */
export const keepsKeysInHardware = ({ level, keyProtection }: AuthenticatorModel): boolean =>
  level >= 2 || (keyProtection.length > 0 && !keyProtection.includes('software'))

type Info = {
  readonly aaguid: string
  readonly credentialDeviceType: string
  readonly userVerified: boolean
  readonly attestationObject: Uint8Array<ArrayBuffer>
}
const es256 = -7
/**
 * Whether an attestation has a chain, and only one encoding of what its maker signed. The library reads other encodings, and
 * ignores bytes behind: somebody could write one attestation in several ways.
 */
const isSignedOnce = (attestationObject: Uint8Array): boolean => {
  try {
    const object = readCanonicalCbor(attestationObject)
    const statement = object instanceof Map ? object.get('attStmt') : undefined
    if (!(statement instanceof Map)) return false
    const [chain, signature] = [statement.get('x5c'), statement.get('sig')]
    if (!Array.isArray(chain) || chain.length === 0) return false
    const isEcdsa = (statement.get('alg') ?? es256) === es256 && signature instanceof Uint8Array
    return (
      (!isEcdsa || isDerSignature(Buffer.from(signature))) &&
      chain.every((one) => one instanceof Uint8Array && isDerCertificate(Buffer.from(one)))
    )
  } catch {
    return false
  }
}

/**
 * Only a device-bound key of a model in the metadata counts as more than software. The library checks a certificate
 * chain against the model's roots; a statement without a chain is self-attested, under any AAGUID.
 */
const findVouchedModel = (info: Info, findModel: FindModel): AuthenticatorModel | undefined => {
  const vouched = info.credentialDeviceType === 'singleDevice' && isSignedOnce(info.attestationObject)
  return vouched ? findModel(info.aaguid) : undefined
}
const assuranceOf = (model: AuthenticatorModel | undefined, userVerified: boolean): AttestedAssurance => {
  if (!model || (model.level < 1 && !keepsKeysInHardware(model))) return 'software'
  return model.level >= 2 && userVerified ? 'hardware_strong' : 'hardware'
}

/** The root of a key: its model must keep keys in hardware, and the authenticator must have verified the user. */
const rootOf = (
  model: string | undefined,
  { userVerified, rpID }: { readonly userVerified: boolean; readonly rpID?: string | undefined },
): DeviceRoot | undefined =>
  model === undefined || rpID === undefined || !userVerified
    ? undefined
    : { name: model, app: { kind: 'rp_id', name: rpID } }

/** The flag BE, which an authenticator sets for good: its key can be copied to other devices. Flag BS says whether it was. */
const isSyncable = ({ credentialDeviceType }: Pick<Info, 'credentialDeviceType'>): boolean =>
  credentialDeviceType === 'multiDevice'

type PasskeyRegistration = { readonly credential: RegistrationResponseJSON; readonly challenge: string }

/** Verifies a new passkey or security key. Its attestation counts only against trusted metadata. */
export const verifyNewPasskey = async (
  { credential, challenge }: PasskeyRegistration,
  relying: RelyingParty,
  findModel: FindModel,
): Promise<AttestationResult> => {
  const result = await verifyRegistrationResponse({
    response: credential,
    expectedChallenge: challenge,
    expectedOrigin: [...relying.origins],
    expectedRPID: [...relying.rpIds],
    requireUserVerification: relying.requiresUserVerification,
  }).catch(() => undefined)
  if (!result?.verified) return { attested: false, reason: 'passkey_refused' }
  const info = result.registrationInfo
  const vouched = findVouchedModel(info, findModel)
  const assurance = assuranceOf(vouched, info.userVerified)
  const model = vouched && keepsKeysInHardware(vouched) ? info.aaguid : undefined
  const key: DeviceKey = {
    keyId: info.credential.id,
    publicKey: Buffer.from(info.credential.publicKey),
    counter: info.credential.counter,
    assurance,
    model,
  }
  return { attested: true, assurance, key, synced: isSyncable(info), root: rootOf(model, info) }
}

type PasskeyAssertion = { readonly credential: AuthenticationResponseJSON; readonly challenge: string }

/** The model of a known key, while the metadata still says that it keeps its keys in hardware. */
const trustedModel = ({ model }: DeviceKey, findModel: FindModel): string | undefined => {
  const found = model === undefined ? undefined : findModel(model)
  return found && keepsKeysInHardware(found) ? model : undefined
}

const keyTypeLabel = 1
const ellipticCurve = 2
/** An ECDSA signature must be in DER: the library reads other encodings of it too. */
const hasOneSignature = ({ response }: AuthenticationResponseJSON, { publicKey }: DeviceKey): boolean => {
  try {
    const key = readCbor(publicKey)
    if (!(key instanceof Map)) return false
    return (
      key.get(keyTypeLabel) !== ellipticCurve || isDerSignature(Buffer.from(response.signature, 'base64url'))
    )
  } catch {
    return false
  }
}

/**
 * Verifies a signature by a known passkey. A counter that does not increase means a cloned key, unless the
 * authenticator never counts.
 */
export const verifyKnownPasskey = async (
  { credential, challenge }: PasskeyAssertion,
  known: DeviceKey,
  { relying, findModel }: { readonly relying: RelyingParty; readonly findModel: FindModel },
): Promise<AttestationResult> => {
  if (!hasOneSignature(credential, known)) return { attested: false, reason: 'passkey_refused' }
  const result = await verifyAuthenticationResponse({
    response: credential,
    expectedChallenge: challenge,
    expectedOrigin: [...relying.origins],
    expectedRPID: [...relying.rpIds],
    credential: { id: known.keyId, publicKey: new Uint8Array(known.publicKey), counter: known.counter },
    requireUserVerification: relying.requiresUserVerification,
  }).catch(() => undefined)
  if (!result?.verified) return { attested: false, reason: 'passkey_refused' }
  const info = result.authenticationInfo
  const key = { ...known, counter: info.newCounter }
  const model = trustedModel(known, findModel)
  const assurance = model === known.model ? known.assurance : 'software'
  return { attested: true, assurance, key, synced: isSyncable(info), root: rootOf(model, info) }
}
