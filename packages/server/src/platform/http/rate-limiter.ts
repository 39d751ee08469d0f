import { setTimeout } from 'node:timers/promises'
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

type Count = { readonly limit: RateLimit; readonly key: string }
/** The counts of both networks of a client. All clients that are not known have the quota of one narrow network together. */
const countsOf = (
  { name, perNetwork: quota, windowSeconds }: ClientLimit,
  { narrow, wide }: ClientAddress,
): readonly [narrow: Count, wide: Count] => [
  { limit: { name, quota, windowSeconds }, key: narrow },
  { limit: { name: `${name}_network`, quota: quota * wideFactor, windowSeconds }, key: wide },
]

type Window = { startedAt: number; used: number }

const keyOf = ({ limit, key }: Count): string => `${limit.name}:${key}`

/** Fixed windows in the memory of this process. */
const makeWindows = () => {
  const windows = new Map<string, Window>()

  const find = (count: Count, now: number): Window | undefined => {
    const known = windows.get(keyOf(count))
    // A window that began in the future is from before the clock was set back: it must not last until then.
    return known && known.startedAt <= now && now - known.startedAt < count.limit.windowSeconds * 1_000
      ? known
      : undefined
  }

  return {
    find,
    remaining: (count: Count, now: number): number =>
      Math.max(0, count.limit.quota - (find(count, now)?.used ?? 0)),
    add: (count: Count, now: number): void => {
      const known = find(count, now)
      if (known) {
        known.used += 1
        return
      }
      windows.delete(keyOf(count))
      if (windows.size >= windowsMax) {
        const oldest = windows.keys().next().value
        if (oldest !== undefined) windows.delete(oldest)
      }
      windows.set(keyOf(count), { startedAt: now, used: 1 })
    },
    release: (count: Count): void => {
      const window = windows.get(keyOf(count))
      if (window && window.used > 0) window.used -= 1
    },
    size: () => windows.size,
  }
}

/** Counts requests in fixed windows, in this process. */
export const makeRateLimiter = (clock: Clock) => {
  const windows = makeWindows()

  /** Counts a call in every count, or in none: a call that is refused adds no window and displaces no other. */
  const addToAll = (counts: readonly Count[], now: number): boolean => {
    const allowed = counts.every((count) => windows.remaining(count, now) > 0)
    if (allowed) for (const count of counts) windows.add(count, now)
    return allowed
  }

  const resultOf = (allowed: boolean, count: Count, now: number): RateLimitResult => {
    const { name, quota, windowSeconds } = count.limit
    const startedAt = windows.find(count, now)?.startedAt ?? now
    const remaining = windows.remaining(count, now)
    const reset = Math.max(1, Math.ceil((startedAt + windowSeconds * 1_000 - now) / 1_000))
    return {
      allowed,
      headers: {
        'ratelimit-policy': `"${name}";q=${quota};w=${windowSeconds}`,
        ratelimit: `"${name}";r=${remaining};t=${reset}`,
        'x-ratelimit-limit': String(quota),
        'x-ratelimit-remaining': String(remaining),
        'x-ratelimit-reset': String(reset),
        ...(allowed ? {} : { 'retry-after': String(reset) }),
      },
    }
  }

  return {
    /** As `take`, for a caller that gets no headers about the limit: building them takes longer than counting. */
    allows: (limit: RateLimit, key: string): boolean => addToAll([{ limit, key }], clock.now().getTime()),
    take: (limit: RateLimit, key: string): RateLimitResult => {
      const now = clock.now().getTime()
      return resultOf(addToAll([{ limit, key }], now), { limit, key }, now)
    },
    /** Counts a call for both networks of a client, or for none. The headers are those of the network with less left. */
    takeFor: (limit: ClientLimit, client: ClientAddress): RateLimitResult => {
      const now = clock.now().getTime()
      const [narrow, wide] = countsOf(limit, client)
      const allowed = addToAll([narrow, wide], now)
      const isWideLess = windows.remaining(wide, now) < windows.remaining(narrow, now)
      return resultOf(allowed, isWideLess ? wide : narrow, now)
    },
    /** Returns what `takeFor` took, where the call did not use it. */
    releaseFor: (limit: ClientLimit, client: ClientAddress): void => {
      for (const count of countsOf(limit, client)) windows.release(count)
    },
    size: windows.size,
  }
}
export type RateLimiter = ReturnType<typeof makeRateLimiter>

const refusalDelayMs = 500
const delayedMax = 1_000

/** Delays refusals: without it, a client that repeats its calls at once would use up the time of all others. */
export const makeRefusalDelay = () => {
  let delayed = 0
  return async (): Promise<void> => {
    if (delayed >= delayedMax) return
    delayed += 1
    await setTimeout(refusalDelayMs, undefined, { ref: false })
    delayed -= 1
  }
}
