import type { Agent } from '../platform/call.ts'
import type { Ctx } from '../platform/context.ts'
import { inTransaction } from '../platform/db.ts'
import { Refusal } from '../platform/errors.ts'
import type { FindTokens } from './show-order.ts'
import { requireReviewable, showUnit } from './unit-accept.ts'
import type { RejectReason } from './units/rules.ts'
import { rejectUnit } from './units/steps.ts'

type Input = {
  readonly orderId: string
  readonly n: number
  readonly reason: RejectReason
  readonly note?: string | undefined
}

/** The buyer says no, in time and with a reason. */
export const unitReject = (ctx: Ctx, agent: Agent, findTokens: FindTokens, input: Input) =>
  inTransaction(ctx, 'system', async (tx) => {
    const { orderId, n, reason, note } = input
    const locked = await requireReviewable(tx, { agentId: agent.agentId, mode: agent.mode, orderId, n })
    if (locked.unit.reviewIsOver)
      throw new Refusal('order_conflict', {
        message: 'The time to look at it is over: it counts as accepted.',
      })
    await rejectUnit(tx, locked, { reason, note })
    return showUnit(tx, locked, findTokens)
  })
