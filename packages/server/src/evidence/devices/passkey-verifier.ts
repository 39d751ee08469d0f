import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import type { PasskeyVerifier } from '../../members/index.ts'
import { verifyEvidence } from './attestation.ts'
import type { LoadDeviceTrust } from './device-trust.ts'

const relyingPartyOf = ({ origin, rpId }: { origin: string; rpId: string }) => ({
  origins: [origin],
  rpIds: [rpId],
  requiresUserVerification: true,
})

/**
 * Passkey verification at sign-in and registration, by the same code as device attestation; here user verification is
 * required.
 */
export const makePasskeyVerifier = (loadTrust: LoadDeviceTrust): PasskeyVerifier => ({
  verifyNew: async (credential, expected) => {
    const { findModel, capped } = await loadTrust()
    const { verifyNewPasskey } = await import('./webauthn.ts')
    const created = { credential: credential as RegistrationResponseJSON, challenge: expected.challenge }
    const result = await verifyEvidence(() => verifyNewPasskey(created, relyingPartyOf(expected), findModel))
    if (!result.attested || !result.key) return undefined
    return {
      credentialId: result.key.keyId,
      publicKey: result.key.publicKey,
      counter: result.key.counter,
      assurance: capped ? 'software' : result.assurance,
      synced: result.synced === true,
      model: capped ? undefined : result.key.model,
    }
  },
  verifyKnown: async (credential, known, expected) => {
    const used = { credential: credential as AuthenticationResponseJSON, challenge: expected.challenge }
    const key = { ...known, keyId: known.credentialId }
    const { findModel, capped } = await loadTrust()
    const { verifyKnownPasskey } = await import('./webauthn.ts')
    const result = await verifyEvidence(() =>
      verifyKnownPasskey(used, key, { relying: relyingPartyOf(expected), findModel }),
    )
    if (!result.attested || !result.key) return undefined
    return {
      counter: result.key.counter,
      synced: result.synced === true,
      model: capped ? undefined : result.root?.name,
    }
  },
})
