import {
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
  type AuthenticationResponseJSON,
  type RegistrationResponseJSON,
} from '@simplewebauthn/server'
import { decodeAttestationObject } from '@simplewebauthn/server/helpers'
import {
  assertEvidence,
  type AttestationResult,
  type AttestedAssurance,
  type DeviceKey,
} from './attestation.ts'

export type RelyingParty = {
  readonly origins: readonly string[]
  readonly rpIds: readonly string[]
  /** Whether user verification (biometrics or PIN) is required, not only presence. */
  readonly requiresUserVerification: boolean
}
/** The certification level of a model by its AAGUID; undefined when no trusted statement names it. */
export type FindCertificationLevel = (aaguid: string) => number | undefined

type Info = {
  readonly aaguid: string
  readonly credentialDeviceType: string
  readonly userVerified: boolean
  readonly attestationObject: Uint8Array<ArrayBuffer>
}
/**
 * Only a device-bound key of a model in the metadata counts as more than software. The library checks a certificate
 * chain against the model's roots; a statement without a chain is self-attested, under any AAGUID.
 */
const assuranceOf = (info: Info, levelOf: FindCertificationLevel): AttestedAssurance => {
  const chain: unknown = decodeAttestationObject(info.attestationObject).get('attStmt').get('x5c')
  const vouched = Array.isArray(chain) && chain.length > 0 && info.credentialDeviceType === 'singleDevice'
  const level = vouched ? levelOf(info.aaguid) : undefined
  if (level === undefined || level < 1) return 'software'
  return level >= 2 && info.userVerified ? 'hardware_strong' : 'hardware'
}

type PasskeyRegistration = { readonly credential: RegistrationResponseJSON; readonly challenge: string }

/** Verifies a new passkey or security key. Its attestation counts only against trusted metadata. */
export const verifyNewPasskey = async (
  { credential, challenge }: PasskeyRegistration,
  relying: RelyingParty,
  levelOf: FindCertificationLevel,
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
  const assurance = assuranceOf(info, levelOf)
  const key: DeviceKey = {
    keyId: info.credential.id,
    publicKey: Buffer.from(info.credential.publicKey),
    counter: info.credential.counter,
    assurance,
  }
  return { attested: true, assurance, key, synced: info.credentialDeviceType === 'multiDevice' }
}

type PasskeyAssertion = { readonly credential: AuthenticationResponseJSON; readonly challenge: string }

/**
 * Verifies a signature by a known passkey. A counter that does not increase means a cloned key, unless the
 * authenticator never counts.
 */
export const verifyKnownPasskey = async (
  { credential, challenge }: PasskeyAssertion,
  known: DeviceKey,
  relying: RelyingParty,
): Promise<AttestationResult> => {
  const result = await verifyAuthenticationResponse({
    response: credential,
    expectedChallenge: challenge,
    expectedOrigin: [...relying.origins],
    expectedRPID: [...relying.rpIds],
    credential: { id: known.keyId, publicKey: new Uint8Array(known.publicKey), counter: known.counter },
    requireUserVerification: relying.requiresUserVerification,
  }).catch(() => undefined)
  assertEvidence(result?.verified === true, 'passkey_refused')
  const counter = result?.authenticationInfo.newCounter ?? known.counter
  return { attested: true, assurance: known.assurance, key: { ...known, counter } }
}
