import { route, type Route } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { makeRateLimiter } from '../platform/http/rate-limiter.ts'
import { conversion } from './conversion.ts'
import { event } from './event.ts'
import { funnel } from './funnel.ts'
import { metrics } from './metrics.ts'

export const routes = (ctx: Ctx): Route[] => {
  const limiter = makeRateLimiter(ctx.clock)
  return [
    route('tracking.event', (call) => event(ctx, limiter, call.rawBody)),
    route('tracking.conversion', (call) =>
      conversion(ctx, call.agent, { ...call.body, idempotencyKey: call.idempotencyKey }),
    ),
    route('tracking.metrics', (call) => metrics(ctx, call.agent, call.query)),
    route('tracking.funnel', (call) => funnel(ctx, call.agent, call.query.since)),
  ]
}
