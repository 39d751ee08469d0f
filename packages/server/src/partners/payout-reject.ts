import type { Audit, Operator } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { publish } from '../platform/queue/outbox.ts'
import { releaseAccount } from './accounts/accounts.ts'
import { payoutEventOf, releaseHold, changePayoutState } from './payout-transition.ts'
import { userAccountOf } from './rules.ts'

type Rejection = { readonly requestId: string; readonly reason: string }

/** Rejects an unpaid payout and returns the held Stars to the user. */
export const payoutReject = (ctx: Ctx, audit: Audit, operator: Operator, rejection: Rejection) =>
  changePayoutState(ctx, audit, operator, {
    requestId: rejection.requestId,
    to: 'rejected',
    details: { reason: rejection.reason },
    columns: { rejected_by: operator.operatorId, reject_reason: rejection.reason },
    sideEffects: async (tx, payout) => {
      // Before the Stars: a request locks the account first, too.
      await releaseAccount(tx, payout)
      const account = userAccountOf(payout.agent_id, payout.user_ref)
      await releaseHold(tx, payout, { kind: 'payout_released', to: account })
      await publish(tx, {
        ...payoutEventOf(payout),
        type: 'payout.rejected',
        data: { requestId: rejection.requestId, stars: Number(payout.stars), reason: rejection.reason },
      })
    },
  })
