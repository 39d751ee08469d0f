import type { Endpoint } from '@pohf/protocol'
import type { Agent } from './call.ts'
import type { Config } from '../ops/config.ts'
import type { Ctx } from '../ops/context.ts'
import { makeKeyLookups } from './key-lookups.ts'
import { networkPrefixOf, makeRateLimiter, type RateLimit, type RateLimitResult } from './rate-limiter.ts'

/** The limits by client address. */
export const addressLimitsOf = (
  config: Pick<Config, 'REGISTER_LIMIT_PER_HOUR'>,
): Record<NonNullable<Endpoint['limit']>, RateLimit> => ({
  register: { name: 'register', quota: config.REGISTER_LIMIT_PER_HOUR, windowSeconds: 3_600 },
  beacon: { name: 'beacon', quota: 300, windowSeconds: 60 },
  tasks: { name: 'tasks', quota: 60, windowSeconds: 60 },
  forwards: { name: 'forwards', quota: 20, windowSeconds: 3_600 },
  mail: { name: 'mail', quota: 20, windowSeconds: 3_600 },
  // A team behind one address, each with several open pages.
  console: { name: 'console', quota: 300, windowSeconds: 60 },
  sessions: { name: 'sessions', quota: 60, windowSeconds: 60 },
  // Fifteen concurrent sessions behind one address with a chunk every second, as while a probe is open; else about thirty.
  telemetry: { name: 'telemetry', quota: 900, windowSeconds: 60 },
})

/** Throttles calls: counts them against their rate limits. HTTP and dispatch share one, or dispatched calls would not count. */
export const makeRateLimits = (ctx: Ctx) => {
  const limiter = makeRateLimiter(ctx.clock)
  const limits = addressLimitsOf(ctx.config)
  return {
    byAddress: (endpoint: Endpoint, address: string): RateLimitResult | undefined =>
      endpoint.limit && ctx.config.addressLimits
        ? limiter.take(limits[endpoint.limit], networkPrefixOf(address))
        : undefined,
    byAgent: (agent: Agent): RateLimitResult =>
      limiter.take(
        { name: 'key', quota: agent.ratePerMinute ?? ctx.config.KEY_LIMIT_PER_MINUTE, windowSeconds: 60 },
        agent.agentId,
      ),
    lookUpKey: makeKeyLookups(ctx.config, limiter),
  }
}
export type RateLimits = ReturnType<typeof makeRateLimits>
