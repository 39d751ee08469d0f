import type { Person } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { findAssignment, type Assignment } from './store.ts'
import { summarizeAssignment } from './present.ts'
import { appealUnit, lockUnit } from '../units/transitions.ts'
import { updateUnitKnownAnswerAppealed, type Unit } from '../units/store.ts'
import { requireOwnAssignment } from './assignment.ts'

/** A wrong known answer that can still be appealed. The unit is paid; only the accuracy of the person is at stake. */
const isMissedKnownAnswer = (own: Assignment, unit: Unit): boolean =>
  own.knownAnswerCorrect === false && unit.status === 'accepted' && unit.appeal === null && !unit.reviewIsOver

/** The person appeals a rejection or a wrong known answer; an operator decides. */
export const workerAppeal = (
  ctx: Ctx,
  { personId }: Person,
  input: { readonly assignmentId: string; readonly text: string },
) =>
  inTransaction(ctx, 'system', async (tx) => {
    const own = await requireOwnAssignment(tx, personId, input.assignmentId)
    const locked = await lockUnit(tx, own)
    if (locked && isMissedKnownAnswer(own, locked.unit)) {
      await updateUnitKnownAnswerAppealed(tx, locked.unit, input.text)
      return summarizeAssignment(tx, own)
    }
    if (locked?.holder?.assignmentId !== own.assignmentId || locked.unit.status !== 'rejected')
      throw new Refusal('order_conflict', { message: 'This unit has no rejection that you can appeal.' })
    if (locked.unit.appealIsOver)
      throw new Refusal('order_conflict', { message: 'The appeal period is over.' })
    await appealUnit(tx, locked, input.text)
    return summarizeAssignment(tx, (await findAssignment(tx, own.assignmentId)) ?? own)
  })
