import { isIP, isIPv6 } from 'node:net'
import type { Clock } from '../ops/clock.ts'

export type RateLimit = { readonly name: string; readonly quota: number; readonly windowSeconds: number }
export type RateLimitResult = { readonly allowed: boolean; readonly headers: Record<string, string> }

/** Windows kept per process; the oldest is dropped first, so that a flood of addresses cannot fill memory. */
const windowsMax = 100_000

type Window = { startedAt: number; used: number }

/** Whether the text is an IPv4 or IPv6 address. */
export const isAddress = (text: string): boolean => isIP(text) !== 0

/** The eight groups of an IPv6 address. */
const groupsOf = (address: string): readonly string[] => {
  // URL parsing normalises every form of an address.
  const normalised = new URL(`http://[${address.split('%')[0]}]`).hostname.slice(1, -1)
  const [head = '', tail = ''] = normalised.split('::')
  const left = head.split(':').filter((part) => part !== '')
  const right = tail.split(':').filter((part) => part !== '')
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => '0')
  return [...left, ...zeros, ...right]
}

/**
 * Prefixes of IPv6 addresses that contain the IPv4 address of the client, and where. By 6to4 each IPv4 address has a /48 of
 * its own, and by Teredo a client chooses the first 64 bits (the server) at will: one client would be many networks.
 */
const embeddings: readonly { readonly prefix: string; readonly at: number; readonly inverted?: true }[] = [
  { prefix: '0:0:0:0:0:ffff:', at: 6 }, // IPv4-mapped, RFC 4291
  { prefix: '64:ff9b:0:0:0:0:', at: 6 }, // NAT64, RFC 6052
  { prefix: '2002:', at: 1 }, // 6to4, RFC 3056
  { prefix: '2001:0:', at: 6, inverted: true }, // Teredo, RFC 4380
]

/** The eight groups of an IPv6 address, or the four numbers of an IPv4 address, also of one that an IPv6 address contains. */
export const addressPartsOf = (address: string): readonly string[] => {
  if (!isIPv6(address)) return address.split('.')
  const groups = groupsOf(address)
  const text = groups.join(':')
  const embedding = embeddings.find(({ prefix }) => text.startsWith(prefix))
  if (!embedding) return groups
  const { at, inverted } = embedding
  return groups.slice(at, at + 2).flatMap((group) => {
    const half = Number.parseInt(group, 16) ^ (inverted ? 0xffff : 0)
    return [String(half >> 8), String(half & 255)]
  })
}

/** The network an address counts for: the /64 of an IPv6 address (one subscriber), an IPv4 address itself, in any form. */
export const networkPrefixOf = (address: string): string => {
  const parts = addressPartsOf(address)
  return parts.length === 8 ? `${parts.slice(0, 4).join(':')}::/64` : parts.join('.')
}

/** The network that one customer of a provider can hold: the /48 of an IPv6 address, the /24 of an IPv4 address. */
export const wideNetworkPrefixOf = (address: string): string => {
  const parts = addressPartsOf(address)
  return parts.length === 8 ? `${parts.slice(0, 3).join(':')}::/48` : `${parts.slice(0, 3).join('.')}.0/24`
}

/** Counts requests in fixed windows, in this process. */
export const makeRateLimiter = (clock: Clock) => {
  const windows = new Map<string, Window>()

  const current = (key: string, now: number, windowMs: number): Window => {
    const known = windows.get(key)
    // A window that began in the future is from before the clock was set back: it must not last until then.
    if (known && known.startedAt <= now && now - known.startedAt < windowMs) return known
    windows.delete(key)
    if (windows.size >= windowsMax) {
      const oldest = windows.keys().next().value
      if (oldest !== undefined) windows.delete(oldest)
    }
    const fresh = { startedAt: now, used: 0 }
    windows.set(key, fresh)
    return fresh
  }

  const count = (limit: RateLimit, key: string, now: number) => {
    const window = current(`${limit.name}:${key}`, now, limit.windowSeconds * 1_000)
    const allowed = window.used < limit.quota
    if (allowed) window.used += 1
    return { window, allowed }
  }

  return {
    /** As `take`, for a caller that gets no headers about the limit: building them takes longer than counting. */
    allows: (limit: RateLimit, key: string): boolean => count(limit, key, clock.now().getTime()).allowed,
    take: (limit: RateLimit, key: string): RateLimitResult => {
      const now = clock.now().getTime()
      const { window, allowed } = count(limit, key, now)
      const remaining = Math.max(0, limit.quota - window.used)
      const reset = Math.max(1, Math.ceil((window.startedAt + limit.windowSeconds * 1_000 - now) / 1_000))
      return {
        allowed,
        headers: {
          'ratelimit-policy': `"${limit.name}";q=${limit.quota};w=${limit.windowSeconds}`,
          ratelimit: `"${limit.name}";r=${remaining};t=${reset}`,
          'x-ratelimit-limit': String(limit.quota),
          'x-ratelimit-remaining': String(remaining),
          'x-ratelimit-reset': String(reset),
          ...(allowed ? {} : { 'retry-after': String(reset) }),
        },
      }
    },
    /** Returns what `take` took, where the call did not use it. */
    release: (limit: RateLimit, key: string): void => {
      const window = windows.get(`${limit.name}:${key}`)
      if (window && window.used > 0) window.used -= 1
    },
    size: () => windows.size,
  }
}
export type RateLimiter = ReturnType<typeof makeRateLimiter>
