import { route, type Route } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { list } from './list.ts'

export const routes = (ctx: Ctx): Route[] => [
  route('requests.list', (call) => list(ctx, call.agent, call.query)),
]
