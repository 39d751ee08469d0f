import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import type { PasskeyJudge } from '../../members/index.ts'
import { judgeEvidence } from './attestation.ts'
import type { DeviceTrust } from './attestation-trust.ts'
import { verifyKnownPasskey, verifyNewPasskey } from './webauthn.ts'

const relyingOf = ({ origin, rpId }: { origin: string; rpId: string }) => ({
  origins: [origin],
  rpIds: [rpId],
  verifiesUser: true,
})

/** Judges passkeys of members by the same code as those of devices; here the person must have been verified. */
export const makePasskeyJudge = (trust: Promise<DeviceTrust>): PasskeyJudge => ({
  created: async (credential, asked) => {
    const { levelOf, capped } = await trust
    const created = { credential: credential as RegistrationResponseJSON, challenge: asked.challenge }
    const judged = await judgeEvidence(() => verifyNewPasskey(created, relyingOf(asked), levelOf))
    if (!judged.attested || !judged.key || judged.assurance === 'none') return undefined
    return {
      credentialId: judged.key.keyId,
      publicKey: judged.key.publicKey,
      counter: judged.key.counter,
      assurance: capped ? 'software' : judged.assurance,
      synced: judged.synced === true,
    }
  },
  used: async (credential, known, asked) => {
    const used = { credential: credential as AuthenticationResponseJSON, challenge: asked.challenge }
    const key = { ...known, keyId: known.credentialId }
    const judged = await judgeEvidence(() => verifyKnownPasskey(used, key, relyingOf(asked)))
    return judged.attested ? judged.key?.counter : undefined
  },
})
