import type { Audit, Operator } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { Refusal } from '../platform/http/errors.ts'
import { publish } from '../platform/queue/outbox.ts'
import { payoutEventOf, changePayoutState } from './payout-transition.ts'

/** The second operator approves the payout. Off by default: each deployment decides whether it pays people out. */
export const payoutApprove = async (ctx: Ctx, audit: Audit, operator: Operator, requestId: string) => {
  if (ctx.config.PAYOUT_APPROVAL === 'off')
    throw new Refusal('forbidden', {
      message: 'Approval of payouts is disabled on this deployment. Set PAYOUT_APPROVAL=on to enable it.',
    })
  return changePayoutState(ctx, audit, operator, {
    requestId,
    to: 'approved',
    details: {},
    columns: { approved_by: operator.operatorId },
    sideEffects: async (tx, payout) => {
      await publish(tx, {
        ...payoutEventOf(payout),
        type: 'payout.approved',
        data: { requestId, stars: Number(payout.stars) },
      })
    },
  })
}
