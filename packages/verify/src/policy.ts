import type { JSONWebKeySet } from 'jose'
import { assurances, credentialKinds, type Assurance, type CredentialKind } from './claims.ts'
import { forgingClasses, type ForgingClass } from './price.ts'

/** What the caller requires of a decision about an approval. All of it is stated: 0 and false demand nothing. */
export type ApprovalPolicy = {
  /**
   * The id of the agent in whose account the approvers must be enrolled. The service gives it out and signs it, so nobody can choose
   * that of another company.
   */
  readonly enrolledBy: string
  /** How many people must have approved, of those that were asked. */
  readonly minApprovers: number
  /** Whether the passkey that signed must not leave its device. */
  readonly keyBound: boolean
  readonly minKeyAgeDays: number
  /** How long the approver must have been shown the action. */
  readonly minShownSeconds: number
}

/** What the caller requires. No default lets a credential pass. */
export type Policy = {
  readonly kinds: readonly CredentialKind[]
  readonly minAssurance: Assurance
  /** 0..1. Only 0 lets a credential pass in which no attention was measured. */
  readonly minQuality: number
  /** `require`: a status must be present and valid. `if-present`: valid where there is one. `skip`: not checked. */
  readonly status: 'require' | 'if-present' | 'skip'
  /** The nonce that you issued for this act. */
  readonly challenge?: string | undefined
  /** How long ago the act may have ended. */
  readonly maxAgeSeconds?: number | undefined
  /** What 1,000 such acts must cost to forge, by the issuer's table. An unknown price is refused. */
  readonly minForging?: ForgingClass | undefined
  /** What such acts of 1,000 distinct humans must cost to forge. Refused where no root counts humans. */
  readonly minForgingHuman?: ForgingClass | undefined
  /** Organizations whose word you take for a human, as in `roots[].issuer`. It reaches both classes, and `substantial`. */
  readonly trustedIssuers?: readonly string[] | undefined
  /** Agents whose claim `limit` you rely on: your own. Others could be made in any number. */
  readonly pinnedAgents?: readonly string[] | undefined
  /** For the kind `approval`, which has no market price. */
  readonly approval?: ApprovalPolicy | undefined
  /** Test credentials prove nothing; without this they are refused. */
  readonly allowTest?: boolean | undefined
}

export type Fetch = (url: string, init?: RequestInit) => Promise<Response>

export type TableOptions = {
  /** The address of the service exactly as in its credentials: no slash at the end. */
  readonly issuer: string
  /** Keys you already hold: then no key is ever fetched. */
  readonly jwks?: JSONWebKeySet | undefined
  /** The price table that you already hold, the `table` of `/.well-known/pohf-forging.json`: then none is fetched. */
  readonly forging?: string | undefined
  readonly fetch?: Fetch | undefined
  readonly clock?: (() => Date) | undefined
}

export type Options = TableOptions & { readonly policy: Policy }

const misuse = (message: string): never => {
  throw new TypeError(`@pohf/verify: ${message}`)
}

const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/

export const requireIssuer = (options: TableOptions): void => {
  const { issuer } = options
  const url = typeof issuer === 'string' ? URL.parse(issuer) : null
  if (!url || !/^https?:$/.test(url.protocol))
    return misuse('issuer must be the http(s) address of the service')
  if (issuer !== `${url.origin}${url.pathname === '/' ? '' : url.pathname}` || issuer.endsWith('/'))
    return misuse(`issuer must be written as the service writes it, like ${url.origin}`)
  const own = options.jwks !== undefined || options.fetch !== undefined
  if (url.protocol === 'http:' && !loopback.test(url.hostname) && !own)
    return misuse('keys are not fetched over plain http: use https, or pin them with jwks')
}

const policyKeys: Readonly<Record<keyof Policy, true>> = {
  kinds: true,
  minAssurance: true,
  minQuality: true,
  status: true,
  challenge: true,
  maxAgeSeconds: true,
  minForging: true,
  minForgingHuman: true,
  trustedIssuers: true,
  pinnedAgents: true,
  approval: true,
  allowTest: true,
}
const approvalKeys: Readonly<Record<keyof ApprovalPolicy, true>> = {
  enrolledBy: true,
  minApprovers: true,
  keyBound: true,
  minKeyAgeDays: true,
  minShownSeconds: true,
}

/** A misspelt demand would otherwise demand nothing. */
const requireKnownKeys = (given: object, known: object, name: string): void => {
  const unknown = Object.keys(given).find((key) => !Object.hasOwn(known, key))
  if (unknown !== undefined)
    misuse(`${name}.${unknown.slice(0, 64)} is unknown; there are ${Object.keys(known).join(', ')}`)
}

const listMax = 100
const isList = (value: unknown): boolean =>
  value === undefined ||
  (Array.isArray(value) &&
    value.length <= listMax &&
    value.every((each) => typeof each === 'string' && each !== ''))

const isAtLeast = (value: unknown, least: number): boolean =>
  typeof value === 'number' && Number.isFinite(value) && value >= least

const requireApprovalPolicy = (approval: ApprovalPolicy): void => {
  if (typeof approval !== 'object' || approval === null)
    return misuse('policy.approval must be an object, or be left out')
  requireKnownKeys(approval, approvalKeys, 'policy.approval')
  const { enrolledBy, minApprovers, keyBound, minKeyAgeDays, minShownSeconds } = approval
  if (typeof enrolledBy !== 'string' || enrolledBy === '')
    return misuse('policy.approval.enrolledBy must be the id of an agent')
  if (!Number.isInteger(minApprovers) || minApprovers < 1)
    return misuse('policy.approval.minApprovers must be a whole number from 1')
  if (typeof keyBound !== 'boolean') return misuse('policy.approval.keyBound must be true or false')
  if (!isAtLeast(minKeyAgeDays, 0)) return misuse('policy.approval.minKeyAgeDays must be a number from 0')
  if (!isAtLeast(minShownSeconds, 0)) return misuse('policy.approval.minShownSeconds must be a number from 0')
}

const requireClass = (given: ForgingClass | undefined, name: string): void => {
  if (given !== undefined && !forgingClasses.includes(given))
    misuse(`policy.${name} must be one of ${forgingClasses.join(', ')}, or be left out`)
}

const requirePolicy = (policy: Policy): void => {
  if (typeof policy !== 'object' || policy === null) return misuse('policy is missing: say what you demand')
  requireKnownKeys(policy, policyKeys, 'policy')
  const { kinds, minAssurance, minQuality, status, challenge, maxAgeSeconds, approval } = policy
  if (!Array.isArray(kinds) || kinds.length === 0 || !kinds.every((kind) => credentialKinds.includes(kind)))
    return misuse(`policy.kinds must name one or more of ${credentialKinds.join(', ')}`)
  if (!assurances.includes(minAssurance))
    return misuse(`policy.minAssurance must be one of ${assurances.join(', ')}`)
  if (!isAtLeast(minQuality, 0) || minQuality > 1)
    return misuse('policy.minQuality must be a number from 0 to 1')
  if (!['require', 'if-present', 'skip'].includes(status))
    return misuse('policy.status must be require, if-present or skip')
  // An empty nonce of a lost session would otherwise look like "not required".
  if (challenge !== undefined && (typeof challenge !== 'string' || challenge === ''))
    return misuse('policy.challenge must be a text that is not empty, or be left out')
  if (maxAgeSeconds !== undefined && !(Number.isFinite(maxAgeSeconds) && maxAgeSeconds > 0))
    return misuse('policy.maxAgeSeconds must be a positive number, or be left out')
  requireClass(policy.minForging, 'minForging')
  requireClass(policy.minForgingHuman, 'minForgingHuman')
  for (const name of ['trustedIssuers', 'pinnedAgents'] as const)
    if (!isList(policy[name]))
      return misuse(`policy.${name} must be a list of at most ${listMax} texts, or be left out`)
  if (approval !== undefined) requireApprovalPolicy(approval)
}

/** Throws a TypeError where the caller, not the credential, is at fault. */
export const requireOptions = (options: Options): void => {
  if (typeof options !== 'object' || options === null) return misuse('options are missing')
  requireIssuer(options)
  requirePolicy(options.policy)
}
