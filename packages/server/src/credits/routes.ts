import type { Payments } from '../payments/index.ts'
import { route, type Route } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { balance } from './balance.ts'
import { buy } from './buy.ts'
import type { Credits } from './credits.ts'
import { operatorCheck } from './operator-check.ts'
import { operatorGrant, type GrantDeps } from './operator-grant.ts'
import { usage } from './usage.ts'

export const routes = (ctx: Ctx, parts: { credits: Credits; payments: Payments }): Route[] => [
  route('credits.buy', (call) =>
    buy(ctx, { ...parts, storeResult: call.storeResult }, call.agent, call.body.pack),
  ),
  route('credits.balance', (call) => balance(ctx, parts.credits, call.agent)),
  route('credits.usage', (call) => usage(ctx, parts.credits, call.agent, call.query)),
]

export const operatorRoutes = (deps: GrantDeps): Route[] => [
  route('credits.operator-check', () => operatorCheck(deps.ctx)),
  route('credits.operator-grant', (call) =>
    operatorGrant(deps, call.operator, { ...call.params, ...call.body }),
  ),
]
