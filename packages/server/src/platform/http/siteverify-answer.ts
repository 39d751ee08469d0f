import { secretErrors, type ErrorCode, type siteverifyCodes, type SiteverifyRefusal } from '@pohf/protocol'
import { errorBodyOf, type Refusal } from './errors.ts'

type SiteverifyCode = (typeof siteverifyCodes)[number]

const codeOf: Readonly<Record<SiteverifyRefusal, SiteverifyCode>> = {
  missing_api_key: 'missing-input-secret',
  malformed_api_key: 'invalid-input-secret',
  invalid_api_key: 'invalid-input-secret',
  // The key lacks the scope.
  forbidden: 'invalid-input-secret',
  not_found: 'invalid-input-response',
  session_not_ready: 'invalid-input-response',
  session_rejected: 'invalid-input-response',
  session_expired: 'timeout-or-duplicate',
  credential_lost: 'invalid-input-response',
  credential_revoked: 'invalid-input-response',
  root_suspended: 'invalid-input-response',
  invalid_json: 'bad-request',
  unsupported_media_type: 'bad-request',
  validation_failed: 'bad-request',
  // Nothing is wrong with the response, and a repeat does not help.
  insufficient_credits: 'bad-request',
  account_in_debt: 'bad-request',
  // A form that is sent again tomorrow passes; until then no repeat helps.
  human_limit_reached: 'timeout-or-duplicate',
  // Clients of siteverify read this code as: try again.
  network_busy: 'internal-error',
  overloaded: 'internal-error',
  restore_pending: 'internal-error',
  internal_error: 'internal-error',
}

const isNamed = (code: ErrorCode): code is SiteverifyRefusal => Object.hasOwn(codeOf, code)

const codeOfField: Readonly<Record<string, SiteverifyCode>> = {
  'body.secret': 'invalid-input-secret',
  'body.response': 'invalid-input-response',
  'body.sitekey': 'sitekey-secret-mismatch',
}

/** The siteverify code that corresponds to a refusal of this service. */
const siteverifyCodeOf = ({ code, options: { details = [] } }: Refusal): SiteverifyCode => {
  if (code === 'session_rejected' && details.some((detail) => detail.code === 'session_used'))
    return 'timeout-or-duplicate'
  const [detail] = details
  if (code === 'validation_failed' && detail) {
    if (detail.path === 'body.response' && detail.code === 'missing') return 'missing-input-response'
    return codeOfField[detail.path] ?? 'bad-request'
  }
  return isNamed(code) ? codeOf[code] : 'internal-error'
}

const keptCodes: ReadonlySet<ErrorCode> = new Set(secretErrors)

/** A refusal in the shape of siteverify; undefined where it keeps its status and our shape. */
export const siteverifyAnswerOf = (refusal: Refusal, requestId: string, baseUrl: string) => {
  if (keptCodes.has(refusal.code)) return undefined
  const { ok: _, ...pohf } = errorBodyOf(refusal, requestId, baseUrl)
  return { success: false as const, 'error-codes': [siteverifyCodeOf(refusal)], pohf }
}
