import type { Operator } from '../platform/call.ts'
import { inTransaction } from '../platform/db.ts'
import { Refusal } from '../platform/errors.ts'
import type { Operating } from './operator-produce.ts'
import { findAssignment } from './people/store.ts'
import { decideGold } from './gold.ts'
import { decideUnit, lockUnit } from './units/steps.ts'

type Input = {
  readonly assignmentId: string
  readonly decision: 'accepted' | 'refused'
  readonly reason: string
}

/** The person is paid, or the no of the buyer stands. */
export const operatorAppealDecide = ({ ctx, audit, books }: Operating, operator: Operator, input: Input) =>
  inTransaction(ctx, 'system', async (tx) => {
    const { assignmentId, decision, reason } = input
    const assignment = await findAssignment(tx, assignmentId)
    const locked = assignment && (await lockUnit(tx, assignment))
    if (!locked) throw new Refusal('not_found', { message: 'No such appeal.' })
    const isGold = assignment.goldRight === false && locked.unit.appeal?.decision === null
    if ((!isGold && locked.unit.status !== 'appealed') || locked.holder?.assignmentId !== assignmentId)
      throw new Refusal('order_conflict', { message: `This unit is ${locked.unit.status}.` })
    if (isGold) await decideGold(tx, locked, { decision, reason })
    else await decideUnit(tx, books, locked, { decision, reason })
    await audit(tx, {
      operatorId: operator.operatorId,
      action: 'appeal.decide',
      target: assignmentId,
      details: { decision, reason, orderId: locked.order.orderId, n: locked.unit.n },
    })
    return { assignmentId, decision }
  })
