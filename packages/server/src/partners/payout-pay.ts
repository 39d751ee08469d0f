import type { Audit, Operator } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { publish } from '../platform/queue/outbox.ts'
import { recordPaidAccount } from './accounts/accounts.ts'
import { payoutEventOf, releaseHold, changePayoutState } from './payout-transition.ts'
import { accounts } from './rules.ts'

type Payment = {
  readonly requestId: string
  readonly paymentRef: string
  /** The account that was paid, where the payout names one. */
  readonly account?: string | undefined
}

/** Records a payment that an operator made outside, to the named account; the program transfers nothing. */
export const payoutPay = (ctx: Ctx, audit: Audit, operator: Operator, payment: Payment) =>
  changePayoutState(ctx, audit, operator, {
    requestId: payment.requestId,
    to: 'paid',
    details: { paymentRef: payment.paymentRef },
    columns: { paid_by: operator.operatorId, payment_ref: payment.paymentRef },
    sideEffects: async (tx, payout) => {
      await recordPaidAccount(tx, ctx, payout, payment.account)
      await releaseHold(tx, payout, { kind: 'payout_paid', to: accounts.payouts })
      await publish(tx, {
        ...payoutEventOf(payout),
        type: 'payout.paid',
        data: { requestId: payment.requestId, stars: Number(payout.stars) },
      })
    },
  })
