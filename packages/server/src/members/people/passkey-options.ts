import { createHash } from 'node:crypto'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { makeToken } from '../../platform/ops/tokens.ts'
import { requireInvited } from '../membership/invitation.ts'
import { findSignedIn, requireOwnPage, requireSignedIn, type PageRequest } from './login.ts'
import { challengeMinutes, originOf } from '../rules.ts'
import { insertChallenge, listPasskeys } from './store.ts'

type Input = {
  readonly purpose: 'create' | 'sign_in' | 'confirm'
  readonly token?: string | undefined
}

/** Binds a challenge to its subject: an invited person's first passkey, or a further one of the signed-in person. */
export const boundToOf = (subject: { readonly personId: string } | { readonly token: string }): string =>
  'personId' in subject
    ? `person ${subject.personId}`
    : `link ${createHash('sha256').update(subject.token).digest('base64url')}`
export const boundToAnyone = 'anybody'

const findChallengeSubject = async (tx: Tx, page: PageRequest, token: string | undefined) => {
  const signedIn = await findSignedIn(tx, page)
  if (signedIn !== undefined) return { personId: signedIn }
  if (token === undefined) return { personId: await requireSignedIn(tx, page) }
  await requireInvited(tx, token)
  return { token }
}

const credentialDescriptors = (passkeys: readonly { readonly credentialId: string }[]) =>
  passkeys.map(({ credentialId }) => ({ type: 'public-key', id: credentialId }))

/** ES256, EdDSA and RS256: what current authenticators support. */
const algorithms = [-7, -8, -257]

/** The WebAuthn options for the browser. User verification (biometrics or PIN) is required. */
export const passkeyOptions = async (ctx: Ctx, page: PageRequest, input: Input) => {
  requireOwnPage(ctx, page)
  const { rpId } = originOf(ctx.config)
  const challenge = makeToken(ctx.ids, 'chl_')
  const timeout = challengeMinutes * 60_000
  return inTransaction(ctx, 'system', async (tx) => {
    if (input.purpose === 'sign_in') {
      await insertChallenge(tx, { challenge, purpose: 'sign_in', boundTo: boundToAnyone }, challengeMinutes)
      return { publicKey: { challenge, rpId, timeout, userVerification: 'required', allowCredentials: [] } }
    }
    if (input.purpose === 'confirm') {
      const personId = await requireSignedIn(tx, page)
      const allowCredentials = credentialDescriptors(await listPasskeys(tx, personId))
      const boundTo = boundToOf({ personId })
      await insertChallenge(tx, { challenge, purpose: 'confirm', boundTo }, challengeMinutes)
      return { publicKey: { challenge, rpId, timeout, userVerification: 'required', allowCredentials } }
    }
    const subject = await findChallengeSubject(tx, page, input.token)
    const known = 'personId' in subject ? await listPasskeys(tx, subject.personId) : []
    await insertChallenge(tx, { challenge, purpose: 'create', boundTo: boundToOf(subject) }, challengeMinutes)
    return {
      publicKey: {
        challenge,
        timeout,
        rp: { id: rpId, name: 'PoHF' },
        // The user handle is not stored. It tells the cell of the person, and must not identify them.
        user: { id: makeToken(ctx.ids, 'uhd_'), name: 'PoHF', displayName: 'PoHF' },
        pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key', alg })),
        excludeCredentials: credentialDescriptors(known),
        authenticatorSelection: {
          residentKey: 'required',
          requireResidentKey: true,
          userVerification: 'required',
        },
        attestation: 'direct',
      },
    }
  })
}
