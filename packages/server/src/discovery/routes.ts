import { route, type Route } from '../platform/call.ts'
import type { Ctx } from '../platform/context.ts'
import type { Dispatcher } from '../platform/dispatch.ts'
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
