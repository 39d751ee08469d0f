import { route, type Route } from '../platform/http/call.ts'
import { limitGrant, type LimitDeps } from './limit-grant.ts'
import { payoutApprove } from './payout-approve.ts'
import { payoutList, type ListPayoutRisks } from './payout-list.ts'
import { payoutPay } from './payout-pay.ts'
import { payoutReject } from './payout-reject.ts'
import { payoutRequest } from './payout-request.ts'
import { payoutReview } from './payout-review.ts'
import { rateSet } from './rate-set.ts'
import { statement } from './statement.ts'
import { pointsConvert, type PartnersDeps } from './points-convert.ts'

export const routes = (deps: PartnersDeps): Route[] => [
  route('partners.points-convert', (call) =>
    pointsConvert(deps, call.agent, {
      userRef: call.body.userRef,
      points: call.body.points,
      key: call.idempotencyKey ?? call.body.idempotencyKey,
    }),
  ),
  route('partners.payout-request', (call) =>
    payoutRequest(deps.ctx, call.agent, call.body, call.storeResult),
  ),
  route('partners.statement', (call) => statement(deps.ctx, call.agent, call.query)),
]

type OperatorRoutesDeps = LimitDeps & { readonly listRisks: ListPayoutRisks }

export const operatorRoutes = (deps: OperatorRoutesDeps): Route[] => {
  const { ctx, audit, listRisks } = deps
  return [
    route('partners.limit-grant', (call) =>
      limitGrant(deps, call.operator, { ...call.params, ...call.body }),
    ),
    route('partners.rate-set', (call) => rateSet(deps, call.operator, { ...call.params, ...call.body })),
    route('partners.payout-list', (call) => payoutList(ctx, listRisks, call.query)),
    route('partners.payout-review', (call) =>
      payoutReview({ ctx, audit, listRisks }, call.operator, call.params.requestId),
    ),
    route('partners.payout-approve', (call) =>
      payoutApprove(ctx, audit, call.operator, call.params.requestId),
    ),
    route('partners.payout-pay', (call) =>
      payoutPay(ctx, audit, call.operator, { ...call.params, ...call.body }),
    ),
    route('partners.payout-reject', (call) =>
      payoutReject(ctx, audit, call.operator, { ...call.params, ...call.body }),
    ),
  ]
}
