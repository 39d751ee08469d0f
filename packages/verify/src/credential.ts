import { checkVersion, claimChecks, lastChecks } from './checks.ts'
import { readClaims, type Claims } from './claims.ts'
import { checkForging } from './forging.ts'
import { openJws } from './jws.ts'
import { keySourceOf } from './keys.ts'
import { requireOptions, type Options } from './policy.ts'
import { failedCheck, CredentialRefusal, type Check, type CheckName, type Reason } from './refusal.ts'
import { checkStatus } from './status.ts'

export type Result =
  | { readonly ok: true; readonly claims: Claims; readonly checks: readonly Check[] }
  | {
      readonly ok: false
      readonly reason: Reason
      readonly message: string
      readonly checks: readonly Check[]
    }

/** A credential is about 1 kB. */
const maxChars = 8_192

/**
 * Checks a credential against your policy and returns the finding of each check.
 * A bad credential is a result; only a bad call throws (TypeError).
 */
export const verifyCredential = async (jwt: string, options: Options): Promise<Result> => {
  requireOptions(options)
  const keys = keySourceOf(options)
  const context = { options, nowSeconds: Math.floor((options.clock?.() ?? new Date()).getTime() / 1_000) }
  const checks: Check[] = []
  const recordCheck = (name: CheckName, note: string, skipped = false) =>
    void checks.push({ name, ok: true, skipped, note })
  try {
    const payload = await openJws(
      jwt,
      { typ: 'JWT', maxChars, keys, purpose: ({ test }) => (test === true ? 'test' : 'live') },
      recordCheck,
    )
    checkVersion(payload)
    const claims = readClaims(payload)
    recordCheck('claims', 'all there, each of its form')
    for (const [name, check] of claimChecks) {
      const found = check(claims, context)
      recordCheck(name, found.note, found.skipped)
    }
    const status = await checkStatus(claims, context, keys)
    recordCheck('status', status.note, status.skipped)
    const forging = await checkForging(claims, context, keys)
    recordCheck('forging', forging.note, forging.skipped)
    for (const [name, check] of lastChecks) {
      const found = check(claims, context)
      recordCheck(name, found.note, found.skipped)
    }
    // The checks above require `verified` to be true.
    return { ok: true, claims: claims as Claims, checks }
  } catch (error) {
    if (!(error instanceof CredentialRefusal)) throw error
    checks.push(failedCheck(error))
    return { ok: false, reason: error.reason, message: error.message, checks }
  }
}
