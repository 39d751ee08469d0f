import type { Agent } from '../../platform/http/call.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { requireReviewable, presentUnit, type ReviewDeps } from './accept.ts'
import type { RejectReason } from './rules.ts'
import { rejectUnit } from './transitions.ts'

type Input = {
  readonly orderId: string
  readonly n: number
  readonly reason: RejectReason
  readonly note?: string | undefined
}

/** The buyer rejects a unit within the review period, with a reason. */
export const unitReject = ({ ctx, unitDeps, findTokens }: ReviewDeps, agent: Agent, input: Input) =>
  inTransaction(ctx, 'system', async (tx) => {
    const { orderId, n, reason, note } = input
    const locked = await requireReviewable(tx, { agentId: agent.agentId, mode: agent.mode, orderId, n })
    if (locked.unit.reviewIsOver)
      throw new Refusal('order_conflict', {
        message: 'The review period is over: the unit counts as accepted.',
      })
    await rejectUnit(tx, unitDeps, locked, { reason, note })
    return presentUnit(tx, locked, findTokens)
  })
