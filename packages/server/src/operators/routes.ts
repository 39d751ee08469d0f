import { route, type Route } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { audit } from './audit.ts'
import { create } from './create.ts'
import { list } from './list.ts'
import { revoke } from './revoke.ts'

export const operatorRoutes = (ctx: Ctx): Route[] => [
  route('operators.list', () => list(ctx)),
  route('operators.create', (call) => create(ctx, call.operator.operatorId, call.body.name)),
  route('operators.revoke', (call) => revoke(ctx, call.operator, call.params.operatorId)),
  route('operators.audit', (call) => audit(ctx, call.query)),
]
