import { route, type Route } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import type { AdmitBrowser } from './browsers.ts'
import type { NoteAddress } from './recording/append.ts'
import { chunks } from './recording/chunks.ts'
import { create, type SiteLookups } from './create.ts'
import { makeCloser, type ScoreClosed } from './closing/close.ts'
import { finish, type FinishDeps } from './finish.ts'
import { list } from './list.ts'
import { read } from './read.ts'
import { makeProbeRenderer } from './recording/render.ts'
import { makeChunkQueue, telemetry } from './recording/telemetry.ts'

type SessionRoutesDeps = SiteLookups &
  Pick<FinishDeps, 'readVerdict'> & {
    readonly scoreClosed: ScoreClosed
    readonly noteAddress: NoteAddress
    readonly admitBrowser: AdmitBrowser
  }

export const routes = (ctx: Ctx, { scoreClosed, readVerdict, ...deps }: SessionRoutesDeps): Route[] => {
  const recording = { ctx, noteAddress: deps.noteAddress }
  const render = makeProbeRenderer()
  const appendQueued = makeChunkQueue(recording)
  const closeSession = makeCloser({ ...recording, scoreClosed })
  return [
    route('sessions.create', (call) =>
      create(ctx, { ...deps, render }, call.body, {
        origin: call.header('origin'),
        userAgent: call.header('user-agent'),
        address: call.address,
      }),
    ),
    route('sessions.recording.telemetry', (call) =>
      telemetry(
        { appendQueued, render },
        { sessionId: call.params.sessionId, address: call.address },
        call.body,
      ),
    ),
    route('sessions.finish', (call) =>
      finish(
        { ctx, closeSession, readVerdict },
        { sessionId: call.params.sessionId, address: call.address },
        call.body,
      ),
    ),
    route('sessions.list', (call) => list(ctx, call.agent, call.query)),
    route('sessions.read', (call) => read(ctx, call.agent, call.params.sessionId)),
    route('sessions.recording.chunks', (call) => chunks(ctx, call.agent, call.params.sessionId, call.query)),
  ]
}
