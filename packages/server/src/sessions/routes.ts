import { route, type Route } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import type { NoteAddress } from './recording/append.ts'
import { chunks } from './recording/chunks.ts'
import { create, type SiteLookups } from './create.ts'
import { finish, type OnClosed } from './finish.ts'
import { read } from './read.ts'
import { makeChunkQueue, telemetry } from './recording/telemetry.ts'

type SessionRoutesDeps = SiteLookups & { readonly onClosed: OnClosed; readonly noteAddress: NoteAddress }

export const routes = (ctx: Ctx, { onClosed, ...deps }: SessionRoutesDeps): Route[] => {
  const recording = { ctx, noteAddress: deps.noteAddress }
  const appendQueued = makeChunkQueue(recording)
  return [
    route('sessions.create', (call) =>
      create(ctx, deps, call.body, {
        origin: call.header('origin'),
        userAgent: call.header('user-agent'),
        address: call.address,
      }),
    ),
    route('sessions.recording.telemetry', (call) =>
      telemetry(appendQueued, { sessionId: call.params.sessionId, address: call.address }, call.body),
    ),
    route('sessions.finish', (call) =>
      finish(recording, { sessionId: call.params.sessionId, address: call.address }, call.body, onClosed),
    ),
    route('sessions.read', (call) => read(ctx, call.agent, call.params.sessionId)),
    route('sessions.recording.chunks', (call) => chunks(ctx, call.agent, call.params.sessionId, call.query)),
  ]
}
