import type { Clock } from '../ops/clock.ts'
import { readClientAddress } from './client-address.ts'

export type RateLimit = { readonly name: string; readonly quota: number; readonly windowSeconds: number }
export type RateLimitResult = { readonly allowed: boolean; readonly headers: Record<string, string> }

/** Windows kept per process; the oldest is dropped first, so that a flood of addresses cannot fill memory. */
const windowsMax = 100_000

type Window = { startedAt: number; used: number }

/** The network an address counts for: the /64 of an IPv6 address (one subscriber), an IPv4 address itself, in any form. */
export const networkPrefixOf = (address: string): string => readClientAddress(address).narrow

/** The network that one customer of a provider can hold: the /48 of an IPv6 address, the /24 of an IPv4 address. */
export const wideNetworkPrefixOf = (address: string): string => readClientAddress(address).wide

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
