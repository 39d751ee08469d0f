import { recordHost, type CompanyFault } from '@pohf/protocol'
import { issuerAddress } from '../oidc/entry.ts'

/** A check that succeeded counts for so long: three daily ones may fail before people cannot sign in. */
export const servesHours = 72
/** A company is checked every day, and every hour while its checks fail. */
export const checkHours = 24
export const failedCheckHours = 1
/** One that stopped so long ago is left alone; an owner can check it. */
export const forgottenDays = 30
/** Seconds between two checks that an owner asks for. */
export const checkSecondsMin = 5
/** Sign-ins of one company that wait for its provider at once: a slow one holds no more. */
export const callsMax = 16

export const recordNameOf = (domain: string): string => `${recordHost}.${domain}`
export const recordValueOf = (token: string): string => `pohf-domain-verification=${token}`

/** The issuer of one tenant of Entra: its id is in the address. */
const entraIssuer =
  /^https:\/\/login\.microsoftonline\.com\/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\/v2\.0$/
export const isEntraTenant = (issuer: string): boolean => entraIssuer.test(issuer)
/** Entra answers here with the issuer of the tenant in which the domain was proved to it. */
export const entraTenantOf = (domain: string): string => `https://login.microsoftonline.com/${domain}/v2.0`

/** Addresses at which one provider signs in people of many companies, whose names only a claim tells. */
const sharedHosts: ReadonlySet<string> = new Set([
  'accounts.google.com',
  'login.microsoftonline.com',
  'sts.windows.net',
])

type AddressFault = {
  readonly code: 'issuer_address' | 'shared_issuer' | 'outside_domain'
  readonly message: string
}

/**
 * Why an owner of the domain cannot name this issuer. Its host is below the domain, so that nobody names the company of another;
 * Entra is the exception, because it tells which tenant a domain belongs to.
 */
export const addressFault = (issuer: string, domain: string): AddressFault | undefined => {
  const parsed = issuerAddress.safeParse(issuer)
  if (!parsed.success)
    return {
      code: 'issuer_address',
      message: parsed.error.issues[0]?.message ?? 'is no address of an issuer',
    }
  if (isEntraTenant(issuer)) return undefined
  const { hostname } = new URL(issuer)
  if (sharedHosts.has(hostname))
    return {
      code: 'shared_issuer',
      message: `${hostname} signs in people of many companies, and a credential could not say which`,
    }
  if (hostname === domain || hostname.endsWith(`.${domain}`)) return undefined
  return { code: 'outside_domain', message: `${hostname} is not ${domain} and not below it` }
}

export const faultTexts: Readonly<Record<CompanyFault, string>> = {
  record_missing: 'the TXT record was not found, or says something else',
  dns_unavailable: 'the name servers of the domain did not answer',
  tenant_mismatch: 'Entra says that the domain belongs to another tenant, or to none',
  issuer_mismatch: 'the identity provider calls itself by another address: enter it letter by letter',
  issuer_unavailable: 'the identity provider has no metadata at a public address',
}

export type Times = { readonly seenAt: Date | null; readonly failedSince: Date | null }
export const stopsAt = (seenAt: Date): Date => new Date(seenAt.getTime() + servesHours * 3_600_000)
export const stateOf = (
  { seenAt, failedSince }: Times,
  at: Date,
): 'waiting' | 'ready' | 'missing' | 'stopped' => {
  if (seenAt === null) return 'waiting'
  if (stopsAt(seenAt) <= at) return 'stopped'
  return failedSince === null ? 'ready' : 'missing'
}
