/** Why a credential is refused, and by which check. The list is closed: a new reason is a new minor version. */
const checkOfReason = {
  malformed: 'form',
  too_large: 'form',
  header_refused: 'header',
  unknown_key: 'key',
  keys_unavailable: 'key',
  bad_signature: 'signature',
  unknown_version: 'claims',
  claims_malformed: 'claims',
  wrong_issuer: 'issuer',
  test_credential: 'mode',
  wrong_kind: 'kind',
  expired: 'expiry',
  issued_in_future: 'issued',
  not_verified: 'verified',
  assurance_too_low: 'assurance',
  quality_too_low: 'quality',
  wrong_challenge: 'challenge',
  approval_policy_missing: 'approval',
  not_approved: 'approval',
  not_enrolled_by: 'approval',
  too_few_approvers: 'approval',
  key_not_bound: 'approval',
  key_too_new: 'approval',
  shown_too_short: 'approval',
  status_missing: 'status',
  status_unavailable: 'status',
  status_invalid: 'status',
  revoked: 'status',
  suspended: 'status',
  forging_unknown: 'forging',
  forging_too_cheap: 'forging',
  not_counted: 'forging',
  forging_too_cheap_human: 'forging',
  too_old: 'age',
} as const

export type Reason = keyof typeof checkOfReason
export type CheckName = (typeof checkOfReason)[Reason]

/** Every check, in the order in which they run; the first that fails ends the run. */
export const checkNames: readonly CheckName[] = [...new Set(Object.values(checkOfReason))]

/** The finding of one check. `skipped`: the policy does not require it, or there was nothing to check. */
export type Check = {
  readonly name: CheckName
  readonly ok: boolean
  readonly skipped: boolean
  readonly note: string
}

/** Ends a verification. It never leaves this package: callers get a result. */
export class CredentialRefusal extends Error {
  readonly reason: Reason
  constructor(reason: Reason, message: string) {
    super(message)
    this.reason = reason
  }
}

export const failedCheck = (refused: CredentialRefusal): Check => ({
  name: checkOfReason[refused.reason],
  ok: false,
  skipped: false,
  note: refused.message,
})
