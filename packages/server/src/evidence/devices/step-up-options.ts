import { originOf } from '../../members/index.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { makeChallenge } from './challenge.ts'
import { keyOwnerOf, requireSubject, type StepUpDeps } from './step-up-token.ts'
import { findDeviceKey } from './store.ts'

/** ES256, EdDSA and RS256: what current authenticators support. */
const algorithms = [-7, -8, -257]

type OptionsInput = { readonly token: string; readonly keyId?: string | undefined }

/** The WebAuthn options: to use the key that this browser remembers, or to make one. User verification is required. */
export const stepUpOptions = (deps: StepUpDeps, origin: string | undefined, { token, keyId }: OptionsInput) =>
  inTransaction(deps.ctx, 'system', async (tx) => {
    const subject = await requireSubject(tx, deps, { token, origin })
    const { nonce, challengeB64url: challenge, bound } = await makeChallenge(tx, deps, subject)
    if (!bound) throw new Refusal('not_found', { message: 'There is no such session any more.' })
    const { rpId } = originOf(deps.ctx.config)
    const known =
      keyId === undefined ? undefined : await findDeviceKey(tx, keyOwnerOf(deps, subject.mode), keyId)
    if (known)
      return {
        nonce,
        use: {
          challenge,
          rpId,
          userVerification: 'required' as const,
          allowCredentials: [{ type: 'public-key' as const, id: known.keyId }],
        },
      }
    return {
      nonce,
      create: {
        challenge,
        rp: { id: rpId, name: 'PoHF' },
        user: { id: deps.ctx.ids.random(), name: 'PoHF', displayName: 'PoHF' },
        pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key' as const, alg })),
        authenticatorSelection: {
          authenticatorAttachment: 'cross-platform' as const,
          residentKey: 'discouraged' as const,
          userVerification: 'required' as const,
        },
        attestation: 'direct' as const,
      },
    }
  })
