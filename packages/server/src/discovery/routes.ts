import { route, type Route } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import type { Dispatcher } from '../platform/http/dispatch.ts'
import { manifest, type PaymentOptions } from './manifest.ts'
import { mcp } from './mcp.ts'
import { mcpIdentity } from './mcp-identity.ts'
import { serveSurface } from './surface.ts'

export const routes = (ctx: Ctx, dispatcher: Dispatcher, settlement: PaymentOptions): Route[] => {
  const work = mcp(ctx, dispatcher, settlement)
  const identity = mcpIdentity(ctx, dispatcher)
  return [
    route('discovery.manifest', () => manifest(ctx, settlement)),
    route('discovery.mcp', (call) => serveSurface(work, call)),
    route('discovery.mcp-identity', (call) => serveSurface(identity, call)),
  ]
}
