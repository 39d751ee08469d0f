import type { NamedAccount, PayoutRisk } from '@pohf/protocol'
import type { Audit, Operator } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { presentAccounts } from './accounts/accounts.ts'
import type { ListPayoutRisks } from './payout-list.ts'
import { changePayoutState } from './payout-transition.ts'

type ReviewDeps = { readonly ctx: Ctx; readonly audit: Audit; readonly listRisks: ListPayoutRisks }

/** The first operator reviews the payout, with what is known about the worker; the same operator cannot approve it. */
export const payoutReview = async (
  { ctx, audit, listRisks }: ReviewDeps,
  operator: Operator,
  requestId: string,
) => {
  let risk: PayoutRisk | null = null
  let account: NamedAccount | null = null
  const step = await changePayoutState(ctx, audit, operator, {
    requestId,
    to: 'in_review',
    details: {},
    columns: { reviewed_by: operator.operatorId },
    sideEffects: async (tx, payout) => {
      const { agent_id: agentId, mode, user_ref: userRef } = payout
      risk = (await listRisks(tx, [{ agentId, mode, userRef }]))[0] ?? null
      account = (await presentAccounts(tx, [payout]))[0] ?? null
    },
  })
  return { ...step, risk, account }
}
