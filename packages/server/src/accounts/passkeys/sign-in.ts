import { inTransaction } from '../../platform/db/db.ts'
import { ApiResponse } from '../../platform/http/call.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { readChallenge } from '../../platform/ops/tokens.ts'
import { requireOwnPage, type PageRequest } from '../../platform/sign-in/own-page.ts'
import { credentialIdOf } from '../../platform/sign-in/passkey.ts'
import type { AccountsDeps } from '../deps.ts'
import { signPersonIn } from '../sign-in/visitor.ts'
import { findLatestAccount } from '../people/store.ts'
import { consumeChallenge, findPasskey, updatePasskeyUsed } from './store.ts'

/** Verifies the assertion outside any transaction; its challenge is consumed whatever the result. */
const verifyKnown = async ({ ctx, site, passkeyVerifier }: AccountsDeps, credential: unknown) => {
  const challenge = readChallenge(ctx.ids, credential)
  if (challenge === undefined) throw new Refusal('passkey_refused')
  const known = await inTransaction(ctx, 'system', async (tx) =>
    (await consumeChallenge(tx, { challenge, personId: null }))
      ? findPasskey(tx, credentialIdOf(credential))
      : undefined,
  )
  const counter = known && (await passkeyVerifier.verifyKnown(credential, known, { challenge, ...site }))
  if (!known || counter === undefined) throw new Refusal('passkey_refused')
  return { ...known, counter }
}

/** Signs in with a passkey. */
export const passkeySignIn = async (deps: AccountsDeps, page: PageRequest, credential: unknown) => {
  const { ctx, site } = deps
  requireOwnPage(site, page)
  const { personId, credentialId, counter } = await verifyKnown(deps, credential)
  const { headers, accountId } = await inTransaction(ctx, 'system', async (tx) => {
    // The update also fails if the passkey, or its person, was deleted since the challenge was consumed.
    if (!(await updatePasskeyUsed(tx, credentialId, counter))) throw new Refusal('passkey_refused')
    const latest = await findLatestAccount(tx, personId)
    return {
      accountId: latest,
      headers: await signPersonIn(tx, page, { personId, accountId: latest, by: 'passkey' }),
    }
  })
  ctx.log.info({ personId, accountId, by: 'passkey' }, 'signed in to the console')
  return new ApiResponse({ signedIn: true as const }, { headers })
}
