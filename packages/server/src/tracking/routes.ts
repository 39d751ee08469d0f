import { route, type Route } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { makeRateLimiter } from '../platform/http/rate-limiter.ts'
import { attention } from './attention.ts'
import { conversion } from './conversion.ts'
import type { AttentionStore } from './engines/port.ts'
import { event, makeViewReader } from './event.ts'
import { funnel } from './funnel.ts'
import { makeBeaconQueue } from './ingest.ts'
import { metrics } from './metrics.ts'

export const routes = (ctx: Ctx, store: AttentionStore): Route[] => {
  const limiter = makeRateLimiter(ctx.clock)
  const deps = { ctx, limiter, readView: makeViewReader(ctx), enqueue: makeBeaconQueue(ctx, store) }
  return [
    route('tracking.event', (call) => event(deps, call.rawBody)),
    route('tracking.conversion', (call) =>
      conversion(ctx, store, call.agent, { ...call.body, idempotencyKey: call.idempotencyKey }),
    ),
    route('tracking.metrics', (call) => metrics(ctx, store, call.agent, call.query)),
    route('tracking.funnel', (call) => funnel(ctx, store, call.agent, call.query)),
    route('tracking.attention', (call) => attention(ctx, store, call.agent, call.query)),
  ]
}
