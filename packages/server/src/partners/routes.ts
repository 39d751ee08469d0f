import { route, type Audit, type Route } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { payoutApprove } from './payout-approve.ts'
import { payoutList } from './payout-list.ts'
import { payoutPay } from './payout-pay.ts'
import { payoutReject } from './payout-reject.ts'
import { payoutRequest } from './payout-request.ts'
import { payoutReview } from './payout-review.ts'
import { pointsConvert } from './points-convert.ts'

export const routes = (ctx: Ctx): Route[] => [
  route('partners.points-convert', (call) =>
    pointsConvert(ctx, call.agent, {
      userRef: call.body.userRef,
      points: call.body.points,
      key: call.idempotencyKey ?? call.body.idempotencyKey,
    }),
  ),
  route('partners.payout-request', (call) => payoutRequest(ctx, call.agent, call.body)),
]

export const operatorRoutes = (ctx: Ctx, audit: Audit): Route[] => [
  route('partners.payout-list', (call) => payoutList(ctx, call.query)),
  route('partners.payout-review', (call) => payoutReview(ctx, audit, call.operator, call.params.requestId)),
  route('partners.payout-approve', (call) => payoutApprove(ctx, audit, call.operator, call.params.requestId)),
  route('partners.payout-pay', (call) =>
    payoutPay(ctx, audit, call.operator, { ...call.params, ...call.body }),
  ),
  route('partners.payout-reject', (call) =>
    payoutReject(ctx, audit, call.operator, { ...call.params, ...call.body }),
  ),
]
