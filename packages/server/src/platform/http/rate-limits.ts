import type { Endpoint } from '@pohf/protocol'
import type { Agent } from './call.ts'
import type { Config } from '../ops/config.ts'
import type { Ctx } from '../ops/context.ts'
import { makeCostBudget } from './cost-budget.ts'
import { makeKeyLookups } from './key-lookups.ts'
import type { ClientAddress } from './client-address.ts'
import { makeRateLimiter, type ClientLimit, type RateLimitResult } from './rate-limiter.ts'

/** The limits of one client. */
export const addressLimitsOf = (
  config: Pick<Config, 'REGISTER_LIMIT_PER_HOUR'>,
): Record<NonNullable<Endpoint['limit']>, ClientLimit> => ({
  register: { name: 'register', perNetwork: config.REGISTER_LIMIT_PER_HOUR, windowSeconds: 3_600 },
  beacon: { name: 'beacon', perNetwork: 300, windowSeconds: 60 },
  tasks: { name: 'tasks', perNetwork: 60, windowSeconds: 60 },
  forwards: { name: 'forwards', perNetwork: 20, windowSeconds: 3_600 },
  mail: { name: 'mail', perNetwork: 20, windowSeconds: 3_600 },
  // A team behind one address, each with several open pages.
  console: { name: 'console', perNetwork: 300, windowSeconds: 60 },
  // A directory sends a call for each person whom it adds or changes.
  directory: { name: 'directory', perNetwork: 600, windowSeconds: 60 },
  sessions: { name: 'sessions', perNetwork: 60, windowSeconds: 60 },
  // Fifteen concurrent sessions behind one address with a chunk every second, as while a probe is open; else about thirty.
  telemetry: { name: 'telemetry', perNetwork: 900, windowSeconds: 60 },
})

/** Throttles calls: counts them against their rate limits. HTTP and dispatch share one, or dispatched calls would not count. */
export const makeRateLimits = (ctx: Ctx) => {
  const limiter = makeRateLimiter(ctx.clock)
  const limits = addressLimitsOf(ctx.config)
  return {
    byAddress: (endpoint: Endpoint, address: ClientAddress): RateLimitResult | undefined =>
      endpoint.limit && ctx.config.addressLimits
        ? limiter.takeFor(limits[endpoint.limit], address)
        : undefined,
    byAgent: (agent: Agent): RateLimitResult =>
      limiter.take(
        { name: 'key', quota: agent.ratePerMinute ?? ctx.config.KEY_LIMIT_PER_MINUTE, windowSeconds: 60 },
        agent.agentId,
      ),
    costBudget: makeCostBudget({ clock: ctx.clock, log: ctx.log, isOn: ctx.config.addressLimits }),
    lookUpKey: makeKeyLookups(ctx.config, limiter),
  }
}
export type RateLimits = ReturnType<typeof makeRateLimits>
