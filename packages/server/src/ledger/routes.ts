import { route, type Route } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { operatorCheck } from './operator-check.ts'
import type { Comparison } from './reconcile.ts'

export const operatorRoutes = (ctx: Ctx, comparisons: readonly Comparison[]): Route[] => [
  route('ledger.operator-check', (call) => operatorCheck(ctx, comparisons, call.query.whole === '1')),
]
