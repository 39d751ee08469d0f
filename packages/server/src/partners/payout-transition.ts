import type { PayoutState } from '@pohf/protocol'
import { post } from '../ledger/index.ts'
import type { Audit, Operator } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction, type Tx } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { holdAccountOf, starTransferLines, findTransitionError } from './rules.ts'
import { findPayout, updatePayoutState, type PayoutRow } from './store.ts'

type PayoutTransition = {
  readonly requestId: string
  readonly to: PayoutState
  /** Further details for the audit log. */
  readonly details: Readonly<Record<string, string>>
  readonly columns: Parameters<typeof updatePayoutState>[3]
  /** Postings and events that commit with the transition. */
  readonly sideEffects: (tx: Tx, payout: PayoutRow) => Promise<void>
}

/** One transition by an operator: validation, change and audit entry in one transaction. */
export const changePayoutState = async (
  ctx: Ctx,
  audit: Audit,
  operator: Operator,
  transition: PayoutTransition,
) =>
  inTransaction(ctx, 'system', async (tx) => {
    const payout = await findPayout(tx, transition.requestId)
    if (!payout) throw new Refusal('not_found')
    const state = payout.state
    const error = findTransitionError({ state, reviewedBy: payout.reviewed_by }, transition.to, operator)
    if (error !== undefined) throw new Refusal('forbidden', { message: error })
    await updatePayoutState(tx, payout, transition.to, transition.columns)
    await transition.sideEffects(tx, payout)
    await audit(tx, {
      operatorId: operator.operatorId,
      action: `payout.${transition.to}`,
      target: transition.requestId,
      details: {
        agentId: payout.agent_id,
        stars: payout.stars.toString(),
        from: state,
        ...transition.details,
      },
    })
    return { requestId: transition.requestId, status: transition.to }
  })

/** Moves the held Stars of a payout to another account of the same ledger. A simulated payout holds none. */
export const releaseHold = async (
  tx: Tx,
  payout: PayoutRow,
  release: { readonly kind: string; readonly to: string },
): Promise<void> => {
  if (payout.simulated) return
  await post(tx, {
    agentId: payout.agent_id,
    mode: payout.mode,
    kind: release.kind,
    reference: payout.request_id,
    lines: starTransferLines(holdAccountOf(payout.request_id), release.to, payout.stars),
  })
}

/** The envelope of an event about a payout. */
export const payoutEventOf = (payout: PayoutRow) => ({
  agentId: payout.agent_id,
  mode: payout.mode,
  subject: payout.request_id,
})
