import { route, type Route } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { tasksComplete, type CompletionDeps } from './complete.ts'
import { tasksNext, type FindMode } from './next.ts'

type MicrotaskDeps = CompletionDeps & { readonly findMode: FindMode }

export const routes = (ctx: Ctx, deps: MicrotaskDeps): Route[] => [
  route('microtasks.next', (call) => tasksNext(ctx, call.query.site, deps.findMode)),
  route('microtasks.complete', (call) => tasksComplete(ctx, call.body, deps)),
]
