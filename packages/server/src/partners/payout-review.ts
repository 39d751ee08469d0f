import type { Audit, Operator } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { changePayoutState } from './payout-transition.ts'

/** The first operator reviews the payout; the same operator cannot approve it. */
export const payoutReview = (ctx: Ctx, audit: Audit, operator: Operator, requestId: string) =>
  changePayoutState(ctx, audit, operator, {
    requestId,
    to: 'in_review',
    details: {},
    columns: { reviewed_by: operator.operatorId },
    sideEffects: async () => undefined,
  })
