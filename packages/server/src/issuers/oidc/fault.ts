import * as client from 'openid-client'
import type { Refused } from '../port.ts'

type Rule = Refused['rule']

/** The claim that an error of the library is about. */
const claimOf = (error: unknown): string | undefined => {
  for (let cause = error, depth = 0; depth < 4 && cause instanceof Error; cause = cause.cause, depth += 1) {
    const inner: unknown = cause.cause
    if (typeof inner === 'object' && inner !== null && 'claim' in inner && typeof inner.claim === 'string')
      return inner.claim
  }
  return undefined
}

/** Constant texts of the library: no token and no claim is in them. */
export const messagesOf = (error: unknown): string => {
  const messages: string[] = []
  for (let cause = error, depth = 0; depth < 4 && cause instanceof Error; cause = cause.cause, depth += 1)
    messages.push(cause.message)
  return messages.join('; ')
}

const ruleOfInvalid = (error: unknown): Rule => {
  const message = messagesOf(error)
  if (/signature verification failed|"alg"|Invalid JWT|multiple applicable keys/.test(message))
    return 'signature'
  if (/no authorization code/.test(message)) return 'code_refused'
  if (/claim missing|"id_token"|ID Token/.test(message)) return 'claim_missing'
  if (/"iss"/.test(message)) return 'not_trusted'
  if (/"state"/.test(message)) return 'wrong_state'
  return 'unavailable'
}

const rules: Readonly<Record<string, (error: unknown) => Rule>> = {
  OAUTH_JWT_CLAIM_COMPARISON_FAILED: (error) => (claimOf(error) === 'nonce' ? 'wrong_nonce' : 'not_trusted'),
  OAUTH_JWT_TIMESTAMP_CHECK_FAILED: () => 'expired',
  OAUTH_KEY_SELECTION_FAILED: () => 'signature',
  OAUTH_UNSUPPORTED_OPERATION: () => 'signature',
  OAUTH_INVALID_RESPONSE: ruleOfInvalid,
}

/** The errors by which an issuer says that this person does not get in now (OAuth, OpenID Connect). */
const denials: ReadonlySet<string> = new Set([
  'access_denied',
  'login_required',
  'interaction_required',
  'consent_required',
  'account_selection_required',
  'unmet_authentication_requirements',
])

/** The rule by which an answer was refused, from what the library threw. */
export const ruleOf = (error: unknown): Rule => {
  if (error instanceof client.AuthorizationResponseError)
    return denials.has(error.error) ? 'denied' : 'unavailable'
  if (error instanceof client.ResponseBodyError)
    return error.error === 'invalid_grant' ? 'code_refused' : 'unavailable'
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return rules[code]?.(error) ?? 'unavailable'
}
