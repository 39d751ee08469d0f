import { inTransaction } from '../../platform/db/db.ts'
import { ApiResponse } from '../../platform/http/call.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { readChallenge, tokenHashOf } from '../../platform/ops/tokens.ts'
import { requireOwnPage, type PageRequest } from '../../platform/sign-in/own-page.ts'
import { credentialIdOf } from '../../platform/sign-in/passkey.ts'
import type { OperatorsDeps } from '../deps.ts'
import { readBrowserCookie } from '../rules.ts'
import { openSession } from '../sessions/open.ts'
import { lockOperator } from '../store.ts'
import { consumeChallenge, findPasskey, updatePasskeyUsed } from './store.ts'

/** The operator's page may be attacked: each refused sign-in is a line of the log. */
const refuseSignIn = ({ ctx }: OperatorsDeps, reason: string): Refusal => {
  ctx.log.warn({ reason }, 'sign-in of an operator refused')
  return new Refusal('passkey_refused')
}

/** Consumes the challenge of this browser; a challenge of another browser stays for that one. */
const consumeOwnChallenge = async (
  { ctx }: OperatorsDeps,
  page: PageRequest,
  credential: unknown,
): Promise<string | undefined> => {
  const challenge = readChallenge(ctx.ids, credential)
  const browserHash = tokenHashOf(ctx.ids, 'opw_', readBrowserCookie(page.cookie) ?? '')
  if (challenge === undefined || !browserHash) return undefined
  const isConsumed = await inTransaction(ctx, 'system', (tx) =>
    consumeChallenge(tx, challenge, { browserHash }),
  )
  return isConsumed ? challenge : undefined
}

/** Verifies the assertion outside any transaction; its challenge is consumed whatever the result. */
const verifyKnown = async (deps: OperatorsDeps, page: PageRequest, credential: unknown) => {
  const { ctx, site, passkeyVerifier } = deps
  const challenge = await consumeOwnChallenge(deps, page, credential)
  if (challenge === undefined) throw refuseSignIn(deps, 'challenge')
  const known = await inTransaction(ctx, 'system', (tx) => findPasskey(tx, credentialIdOf(credential)))
  if (!known) throw refuseSignIn(deps, 'unknown passkey')
  const counter = await passkeyVerifier.verifyKnown(credential, known, { challenge, ...site })
  if (counter === undefined) throw refuseSignIn(deps, 'signature')
  return { ...known, counter }
}

/** Signs an operator in with a passkey. */
export const passkeySignIn = async (deps: OperatorsDeps, page: PageRequest, credential: unknown) => {
  requireOwnPage(deps.site, page)
  const { operatorId, passkeyId, counter } = await verifyKnown(deps, page, credential)
  const headers = await inTransaction(deps.ctx, 'system', async (tx) => {
    if (!(await lockOperator(tx, operatorId))) throw refuseSignIn(deps, 'revoked operator')
    // The update also fails if the passkey was removed since the challenge was consumed.
    if (!(await updatePasskeyUsed(tx, passkeyId, counter))) throw refuseSignIn(deps, 'signature counter')
    return openSession(tx, page, { operatorId, passkeyId })
  })
  return new ApiResponse({ signedIn: true as const }, { headers })
}
