import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import type { PasskeyVerifier } from '../../members/index.ts'
import { verifyEvidence } from './attestation.ts'
import type { DeviceTrust } from './attestation-trust.ts'
import { verifyKnownPasskey, verifyNewPasskey } from './webauthn.ts'

const relyingPartyOf = ({ origin, rpId }: { origin: string; rpId: string }) => ({
  origins: [origin],
  rpIds: [rpId],
  requiresUserVerification: true,
})

/**
 * Passkey verification at sign-in and registration, by the same code as device attestation; here user verification is
 * required.
 */
export const makePasskeyVerifier = (trust: Promise<DeviceTrust>): PasskeyVerifier => ({
  verifyNew: async (credential, expected) => {
    const { findModel, capped } = await trust
    const created = { credential: credential as RegistrationResponseJSON, challenge: expected.challenge }
    const result = await verifyEvidence(() => verifyNewPasskey(created, relyingPartyOf(expected), findModel))
    if (!result.attested || !result.key) return undefined
    return {
      credentialId: result.key.keyId,
      publicKey: result.key.publicKey,
      counter: result.key.counter,
      assurance: capped ? 'software' : result.assurance,
      synced: result.synced === true,
    }
  },
  verifyKnown: async (credential, known, expected) => {
    const used = { credential: credential as AuthenticationResponseJSON, challenge: expected.challenge }
    const key = { ...known, keyId: known.credentialId }
    const { findModel } = await trust
    const result = await verifyEvidence(() =>
      verifyKnownPasskey(used, key, { relying: relyingPartyOf(expected), findModel }),
    )
    return result.attested ? result.key?.counter : undefined
  },
})
