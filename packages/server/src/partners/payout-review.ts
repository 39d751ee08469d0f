import type { Audit, Operator } from '../platform/call.ts'
import type { Ctx } from '../platform/context.ts'
import { takeStep } from './payout-step.ts'

/** The first operator looks at it; whoever that is cannot approve it. */
export const payoutReview = (ctx: Ctx, audit: Audit, operator: Operator, requestId: string) =>
  takeStep(ctx, audit, operator, {
    requestId,
    to: 'in_review',
    details: {},
    columns: { reviewed_by: operator.operatorId },
    within: async () => undefined,
  })
