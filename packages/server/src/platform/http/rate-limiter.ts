import type { Clock } from '../ops/clock.ts'
import type { ClientAddress } from './client-address.ts'

export type RateLimit = { readonly name: string; readonly quota: number; readonly windowSeconds: number }
/** A limit of one client. It has no quota for a key, so that no caller can count the narrow network alone. */
export type ClientLimit = {
  readonly name: string
  /** Of the narrow network. */
  readonly perNetwork: number
  readonly windowSeconds: number
}
export type RateLimitResult = { readonly allowed: boolean; readonly headers: Record<string, string> }

/** Windows kept per process; the oldest is dropped first, so that a flood of addresses cannot fill memory. */
const windowsMax = 100_000

/**
 * The quota of a wide network, as a multiple of that of a narrow one. An attacker holds a whole /48 for nothing, so the number
 * must be small; a /24 belongs to neighbours who do not know each other, so it must be more than one. With 4, four busy
 * neighbours are needed before a fifth is refused.
 */
export const wideFactor = 4

/** Both counts of a client. The client that is not known has one count, so that it gets no more than one network. */
const countsOf = (
  { name, perNetwork: quota, windowSeconds }: ClientLimit,
  { narrow, wide }: ClientAddress,
): readonly { readonly limit: RateLimit; readonly key: string }[] => [
  { limit: { name, quota, windowSeconds }, key: narrow },
  ...(wide === narrow
    ? []
    : [{ limit: { name: `${name}_network`, quota: quota * wideFactor, windowSeconds }, key: wide }]),
]

type Window = { startedAt: number; used: number }

/** Counts requests in fixed windows, in this process. */
export const makeRateLimiter = (clock: Clock) => {
  const windows = new Map<string, Window>()

  const keyOf = (limit: RateLimit, key: string) => `${limit.name}:${key}`
  const isOpen = ({ startedAt }: Window, limit: RateLimit, now: number): boolean =>
    // A window that began in the future is from before the clock was set back: it must not last until then.
    startedAt <= now && now - startedAt < limit.windowSeconds * 1_000

  const find = (limit: RateLimit, key: string, now: number): Window | undefined => {
    const known = windows.get(keyOf(limit, key))
    return known && isOpen(known, limit, now) ? known : undefined
  }
  const isFree = (limit: RateLimit, key: string, now: number): boolean =>
    (find(limit, key, now)?.used ?? 0) < limit.quota

  const add = (limit: RateLimit, key: string, now: number): void => {
    const known = find(limit, key, now)
    if (known) {
      known.used += 1
      return
    }
    windows.delete(keyOf(limit, key))
    if (windows.size >= windowsMax) {
      const oldest = windows.keys().next().value
      if (oldest !== undefined) windows.delete(oldest)
    }
    windows.set(keyOf(limit, key), { startedAt: now, used: 1 })
  }

  const allows = (limit: RateLimit, key: string, now: number): boolean => {
    const isAllowed = isFree(limit, key, now)
    if (isAllowed) add(limit, key, now)
    return isAllowed
  }

  const remainingOf = (limit: RateLimit, key: string, now: number): number =>
    Math.max(0, limit.quota - (find(limit, key, now)?.used ?? 0))

  const resultOf = (allowed: boolean, limit: RateLimit, key: string, now: number): RateLimitResult => {
    const startedAt = find(limit, key, now)?.startedAt ?? now
    const remaining = remainingOf(limit, key, now)
    const reset = Math.max(1, Math.ceil((startedAt + limit.windowSeconds * 1_000 - now) / 1_000))
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
  }

  const release = (limit: RateLimit, key: string): void => {
    const window = windows.get(keyOf(limit, key))
    if (window && window.used > 0) window.used -= 1
  }

  return {
    /** As `take`, for a caller that gets no headers about the limit: building them takes longer than counting. */
    allows: (limit: RateLimit, key: string): boolean => allows(limit, key, clock.now().getTime()),
    take: (limit: RateLimit, key: string): RateLimitResult => {
      const now = clock.now().getTime()
      return resultOf(allows(limit, key, now), limit, key, now)
    },
    /** Counts a call for both networks of a client, or for none. The headers are those of the network with less left. */
    takeFor: (clientLimit: ClientLimit, client: ClientAddress): RateLimitResult => {
      const now = clock.now().getTime()
      const counts = countsOf(clientLimit, client)
      const allowed = counts.every(({ limit, key }) => isFree(limit, key, now))
      // A refused call adds no window, so that calls from new narrow networks do not displace that of their wide network.
      if (allowed) for (const { limit, key } of counts) add(limit, key, now)
      const [least = counts[0]] = counts.toSorted(
        (a, b) => remainingOf(a.limit, a.key, now) - remainingOf(b.limit, b.key, now),
      )
      if (!least) throw new Error(`limit ${clientLimit.name} has no count`)
      return resultOf(allowed, least.limit, least.key, now)
    },
    /** Returns what `takeFor` took, where the call did not use it. */
    releaseFor: (clientLimit: ClientLimit, client: ClientAddress): void => {
      for (const { limit, key } of countsOf(clientLimit, client)) release(limit, key)
    },
    size: () => windows.size,
  }
}
export type RateLimiter = ReturnType<typeof makeRateLimiter>
