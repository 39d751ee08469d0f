import { inTransaction } from '../../platform/db/db.ts'
import { ApiResponse } from '../../platform/http/call.ts'
import { hashKey } from '../../platform/ops/keys.ts'
import { makeToken } from '../../platform/ops/tokens.ts'
import { requireOwnPage, type PageRequest } from '../../platform/sign-in/own-page.ts'
import { requestOptions } from '../../platform/sign-in/passkey.ts'
import type { OperatorsDeps } from '../deps.ts'
import { browserCookie, challengeMinutes } from '../rules.ts'
import { insertChallenge } from './store.ts'

/** The WebAuthn options to sign in, for this browser alone. */
export const passkeySignInOptions = async ({ ctx, site }: OperatorsDeps, page: PageRequest) => {
  requireOwnPage(site, page)
  const challenge = makeToken(ctx.ids, 'chl_')
  // Always a new token, so that a cookie that an attacker planted in the browser binds no challenge.
  const browser = makeToken(ctx.ids, 'opw_')
  await inTransaction(ctx, 'system', (tx) =>
    insertChallenge(tx, challenge, { browserHash: hashKey(browser) }),
  )
  const publicKey = requestOptions({ rpId: site.rpId, challenge, timeoutMs: challengeMinutes * 60_000 })
  return new ApiResponse({ publicKey }, { headers: { 'set-cookie': browserCookie(browser) } })
}
