import { inTransaction } from '../../platform/db/db.ts'
import { makeToken } from '../../platform/ops/tokens.ts'
import { requireOwnPage, type PageRequest } from '../../platform/sign-in/own-page.ts'
import { requestOptions } from '../../platform/sign-in/passkey.ts'
import type { AccountsDeps } from '../deps.ts'
import { challengeMinutes } from '../rules.ts'
import { insertChallenge } from './store.ts'

/** The WebAuthn options to sign in to the console. */
export const passkeySignInOptions = async ({ ctx, site }: AccountsDeps, page: PageRequest) => {
  requireOwnPage(site, page)
  const challenge = makeToken(ctx.ids, 'chl_')
  await inTransaction(ctx, 'system', (tx) => insertChallenge(tx, { challenge, personId: null }))
  return {
    publicKey: requestOptions({ rpId: site.rpId, challenge, timeoutMs: challengeMinutes * 60_000 }),
  }
}
