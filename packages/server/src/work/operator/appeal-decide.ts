import type { Operator } from '../../platform/http/call.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { OperatorDeps } from './produce.ts'
import { findAssignment } from '../workers/store.ts'
import { countAsCorrect } from '../units/known-answers.ts'
import { decideUnit, lockUnit } from '../units/transitions.ts'

type Input = {
  readonly assignmentId: string
  readonly decision: 'accepted' | 'refused'
  readonly reason: string
}

/** Pays the person, or confirms the rejection. */
export const operatorAppealDecide = (
  { ctx, audit, unitDeps }: OperatorDeps,
  operator: Operator,
  input: Input,
) =>
  inTransaction(ctx, 'system', async (tx) => {
    const { assignmentId, decision, reason } = input
    const assignment = await findAssignment(tx, assignmentId)
    const locked = assignment && (await lockUnit(tx, assignment))
    if (!locked) throw new Refusal('not_found', { message: 'No such appeal.' })
    if (locked.unit.status !== 'appealed' || locked.holder?.assignmentId !== assignmentId)
      throw new Refusal('order_conflict', { message: `This unit is ${locked.unit.status}.` })
    // The person's figures before the status list, in the order in which grading locks them.
    if (locked.order.purpose === 'gold' && decision === 'accepted') await countAsCorrect(tx, locked)
    await decideUnit(tx, unitDeps, locked, { decision, reason })
    await audit(tx, {
      operatorId: operator.operatorId,
      action: 'appeal.decide',
      target: assignmentId,
      details: { decision, reason, orderId: locked.order.orderId, n: locked.unit.n },
    })
    return { assignmentId, decision }
  })
