import type { Payments } from '../payments/index.ts'
import { route, type Route } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { balance } from './balance.ts'
import { buy } from './buy.ts'
import type { Credits } from './credits.ts'
import { operatorCheck } from './operator-check.ts'

export const routes = (ctx: Ctx, parts: { credits: Credits; payments: Payments }): Route[] => [
  route('credits.buy', (call) => buy(ctx, parts, call.agent, call.body.pack)),
  route('credits.balance', (call) => balance(ctx, parts.credits, call.agent)),
]

export const operatorRoutes = (ctx: Ctx): Route[] => [
  route('credits.operator-check', () => operatorCheck(ctx)),
]
