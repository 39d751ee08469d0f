import { route, type Route } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { loadOnce } from '../platform/ops/load-once.ts'
import type { Dispatcher } from '../platform/http/dispatch.ts'
import { manifest, type PaymentOptions } from './manifest.ts'
import { mcp } from './mcp.ts'
import { mcpIdentity } from './mcp-identity.ts'
import type { McpCall } from './server.ts'
import type { SurfaceParts } from './surface-parts.ts'

/** Imports the SDK of the protocol with the first request: it takes 70 ms of CPU. */
const serve = (parts: SurfaceParts) => {
  const open = loadOnce(async () => (await import('./surface.ts')).openSurface(parts))
  return async (call: McpCall) => (await open())(call)
}

export const routes = (ctx: Ctx, dispatcher: Dispatcher, settlement: PaymentOptions): Route[] => {
  const work = mcp(ctx, dispatcher, settlement)
  const identity = mcpIdentity(ctx, dispatcher)
  return [
    route('discovery.manifest', () => manifest(ctx, settlement)),
    route('discovery.mcp', serve(work)),
    route('discovery.mcp-identity', serve(identity)),
  ]
}
