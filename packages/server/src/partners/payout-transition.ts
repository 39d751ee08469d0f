import type { Mode, PayoutState } from '@pohf/protocol'
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
  /** What the audit log keeps besides whose payout it is. */
  readonly details: Readonly<Record<string, string>>
  readonly columns: Parameters<typeof updatePayoutState>[3]
  /** What else is true with this step: Stars that move, an event. */
  readonly sideEffects: (tx: Tx, payout: PayoutRow) => Promise<void>
}

/** One step of an operator: checked, written, logged, all in one transaction. */
export const changePayoutState = async (
  ctx: Ctx,
  audit: Audit,
  operator: Operator,
  transition: PayoutTransition,
) =>
  inTransaction(ctx, 'system', async (tx) => {
    const payout = await findPayout(tx, transition.requestId)
    if (!payout) throw new Refusal('not_found')
    const state = payout.state as PayoutState
    const fault = findTransitionError(
      { state, reviewedBy: payout.reviewed_by },
      transition.to,
      operator.operatorId,
    )
    if (fault !== undefined) throw new Refusal('forbidden', { message: fault })
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

/** Empties the hold of a payout into another account of the same book. A simulated one holds nothing. */
export const releaseHold = async (
  tx: Tx,
  payout: PayoutRow,
  move: { readonly kind: string; readonly to: string },
): Promise<void> => {
  if (payout.simulated) return
  await post(tx, {
    agentId: payout.agent_id,
    mode: payout.mode as Mode,
    kind: move.kind,
    reference: payout.request_id,
    lines: starTransferLines(holdAccountOf(payout.request_id), move.to, payout.stars),
  })
}

/** The head of an event about a payout. */
export const payoutEventOf = (payout: PayoutRow) => ({
  agentId: payout.agent_id,
  mode: payout.mode as Mode,
  subject: payout.request_id,
})
