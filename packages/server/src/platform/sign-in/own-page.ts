import type { ConsoleRequest } from '../http/call.ts'
import { Refusal } from '../http/errors.ts'

/** The origin of our pages, and the host name to which passkeys belong. */
export type Site = { readonly origin: string; readonly rpId: string }

/** A request by a page that signs in by cookie, with what names its browser. */
export type PageRequest = ConsoleRequest & { readonly userAgent: string | undefined }

const jsonType = /^application\/json\s*(;|$)/i

/**
 * Why a request is not from a page of this site; undefined where it may be. Another site's page can neither set Origin nor
 * Sec-Fetch-Site, and needs our permission to send JSON. A program that is not a browser can set all of them: the checks
 * protect the cookie of an honest browser, and prove nothing about a caller that has the cookie itself.
 */
const pageFault = (site: Site, request: ConsoleRequest): string | undefined => {
  const { method, origin, fetchSite, contentType } = request
  const notOurs = `This works only from a page at ${site.origin}.`
  if (fetchSite !== undefined && fetchSite !== 'same-origin') return notOurs
  if (method === 'GET') return undefined
  if (origin !== site.origin) return notOurs
  if (method !== 'DELETE' && !jsonType.test(contentType ?? '')) return 'Send the body as application/json.'
  return undefined
}

/** Refuses a request that another site's page may have sent with our cookie (CSRF). */
export const requireOwnPage = (site: Site, request: ConsoleRequest): void => {
  const message = pageFault(site, request)
  if (message !== undefined) throw new Refusal('forbidden', { message })
}

/** `Secure` also on http://localhost: browsers accept it there, and the prefix `__Host-` requires it. */
export const strictCookie = (name: string, token: string, seconds: number): string =>
  `${name}=${token}; Path=/; Max-Age=${seconds}; Secure; HttpOnly; SameSite=Strict`

/** Reads the token of a cookie. Every such token has 48 characters. */
export const makeCookieReader = (name: string) => {
  const pattern = new RegExp(`(?:^|;\\s*)${name}=([A-Za-z0-9_-]{48})(?:;|$)`)
  return (header: string | undefined): string | undefined => pattern.exec(header ?? '')?.[1]
}

const browsers = [
  ['Edge', /\bEdg\//],
  ['Opera', /\bOPR\//],
  ['Firefox', /\bFirefox\//],
  ['Chrome', /\bChrom(e|ium)\//],
  ['Safari', /\bSafari\//],
] as const
const systems = [
  ['Android', /\bAndroid\b/],
  ['iOS', /\b(iPhone|iPad)\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMac OS X\b/],
  ['Linux', /\bLinux\b/],
] as const

/** A name of the browser by which a person tells their sessions apart. It is what the browser says, and no proof. */
export const browserNameOf = (userAgent: string | undefined): string => {
  const find = (known: typeof browsers | typeof systems) =>
    known.find(([, pattern]) => pattern.test(userAgent ?? ''))?.[0]
  const browser = find(browsers) ?? 'Another browser'
  const system = find(systems)
  return system === undefined ? browser : `${browser} on ${system}`
}
