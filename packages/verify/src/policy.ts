import type { JSONWebKeySet } from 'jose'
import { assurances, credentialKinds, type Assurance, type CredentialKind } from './claims.ts'
import { forgingClasses, type ForgingClass } from './price.ts'

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
  /** What 1,000 such credentials must cost to forge, by the issuer's table. An unknown price is refused. */
  readonly minForging?: ForgingClass | undefined
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

const requirePolicy = (policy: Policy): void => {
  if (typeof policy !== 'object' || policy === null) return misuse('policy is missing: say what you demand')
  const { kinds, minAssurance, minQuality, status, challenge, maxAgeSeconds, minForging } = policy
  if (!Array.isArray(kinds) || kinds.length === 0 || !kinds.every((kind) => credentialKinds.includes(kind)))
    return misuse(`policy.kinds must name one or more of ${credentialKinds.join(', ')}`)
  if (!assurances.includes(minAssurance))
    return misuse(`policy.minAssurance must be one of ${assurances.join(', ')}`)
  if (typeof minQuality !== 'number' || !(minQuality >= 0 && minQuality <= 1))
    return misuse('policy.minQuality must be a number from 0 to 1')
  if (!['require', 'if-present', 'skip'].includes(status))
    return misuse('policy.status must be require, if-present or skip')
  // An empty nonce of a lost session would otherwise look like "not required".
  if (challenge !== undefined && (typeof challenge !== 'string' || challenge === ''))
    return misuse('policy.challenge must be a text that is not empty, or be left out')
  if (maxAgeSeconds !== undefined && !(Number.isFinite(maxAgeSeconds) && maxAgeSeconds > 0))
    return misuse('policy.maxAgeSeconds must be a positive number, or be left out')
  if (minForging !== undefined && !forgingClasses.includes(minForging))
    return misuse(`policy.minForging must be one of ${forgingClasses.join(', ')}, or be left out`)
}

/** Throws a TypeError where the caller, not the credential, is at fault. */
export const requireOptions = (options: Options): void => {
  if (typeof options !== 'object' || options === null) return misuse('options are missing')
  requireIssuer(options)
  requirePolicy(options.policy)
}
