import type { Agent } from '../../platform/http/call.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { requireReviewable, presentUnit, type ReviewDeps } from './accept.ts'
import { needsDecision, recentReviewDays, type RecentReviews, type RejectReason } from './rules.ts'
import { countRecentReviews } from './store.ts'
import { appealUnit, rejectUnit } from './transitions.ts'

type Input = {
  readonly orderId: string
  readonly n: number
  readonly reason: RejectReason
  readonly note?: string | undefined
}

const automaticAppealText = ({ rejected, delivered }: RecentReviews): string =>
  `Appealed automatically: this buyer rejected ${rejected} of the ${delivered} units that were delivered to it in the last ${recentReviewDays} days.`

/** The buyer rejects a unit within the review period, with a reason. */
export const unitReject = ({ ctx, unitDeps, findTokens }: ReviewDeps, agent: Agent, input: Input) =>
  inTransaction(ctx, 'system', async (tx) => {
    const { orderId, n, reason, note } = input
    const locked = await requireReviewable(tx, { agentId: agent.agentId, mode: agent.mode, orderId, n })
    if (locked.unit.reviewIsOver)
      throw new Refusal('order_conflict', {
        message: 'The review period is over: the unit counts as accepted.',
      })
    if (locked.order.review?.decision === 'refused')
      throw new Refusal('order_conflict', {
        message: 'An operator refused this order: what was delivered before is paid.',
      })
    await rejectUnit(tx, unitDeps, locked, { reason, note })
    // In the sandbox the buyer decides alone: no operator works there.
    const recent = agent.mode === 'live' ? await countRecentReviews(tx, agent) : undefined
    if (recent && needsDecision(recent)) await appealUnit(tx, locked, automaticAppealText(recent))
    return presentUnit(tx, locked, findTokens)
  })
