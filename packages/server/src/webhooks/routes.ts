import { route, type Route } from '../platform/call.ts'
import type { Ctx } from '../platform/context.ts'
import { register } from './register.ts'

export const routes = (ctx: Ctx): Route[] => [
  route('webhooks.register', (call) => register(ctx, call.agent, call.body)),
]
