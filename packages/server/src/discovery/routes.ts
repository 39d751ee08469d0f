import { route, type Route } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import type { Dispatcher } from '../platform/http/dispatch.ts'
import { manifest, type Settlement } from './manifest.ts'
import { mcp } from './mcp.ts'
import { mcpIdentity } from './mcp-identity.ts'
import { serve } from './surface.ts'

export const routes = (ctx: Ctx, dispatcher: Dispatcher, settlement: Settlement): Route[] => {
  const work = mcp(ctx, dispatcher)
  const identity = mcpIdentity(ctx, dispatcher)
  return [
    route('discovery.manifest', () => manifest(ctx, settlement)),
    route('discovery.mcp', (call) => serve(work, call)),
    route('discovery.mcp-identity', (call) => serve(identity, call)),
  ]
}
