import { route, type Route } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { chunks } from './recording/chunks.ts'
import { create, type SiteLookups } from './create.ts'
import { finish, type OnClosed } from './finish.ts'
import { read } from './read.ts'
import { makeChunkQueue, telemetry } from './recording/telemetry.ts'

type SessionRoutesDeps = SiteLookups & { readonly onClosed: OnClosed }

export const routes = (ctx: Ctx, { onClosed, ...lookups }: SessionRoutesDeps): Route[] => {
  const appendQueued = makeChunkQueue(ctx)
  return [
    route('sessions.create', (call) =>
      create(ctx, lookups, call.body, {
        origin: call.header('origin'),
        userAgent: call.header('user-agent'),
      }),
    ),
    route('sessions.recording.telemetry', (call) =>
      telemetry(appendQueued, call.params.sessionId, call.body),
    ),
    route('sessions.finish', (call) => finish(ctx, call.params.sessionId, call.body, onClosed)),
    route('sessions.read', (call) => read(ctx, call.agent, call.params.sessionId)),
    route('sessions.recording.chunks', (call) => chunks(ctx, call.agent, call.params.sessionId, call.query)),
  ]
}
