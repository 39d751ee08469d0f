import type { Person } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { findAssignment } from './store.ts'
import { summarizeAssignment } from './present.ts'
import { appealUnit, lockUnit } from '../units/transitions.ts'
import { requireOwnAssignment } from './assignment.ts'

/** The person appeals a rejection; an operator decides. */
export const workerAppeal = (
  ctx: Ctx,
  { personId }: Person,
  input: { readonly assignmentId: string; readonly text: string },
) =>
  inTransaction(ctx, 'system', async (tx) => {
    const own = await requireOwnAssignment(tx, personId, input.assignmentId)
    const locked = await lockUnit(tx, own)
    if (locked?.holder?.assignmentId !== own.assignmentId || locked.unit.status !== 'rejected')
      throw new Refusal('order_conflict', { message: 'This unit has no rejection that you can appeal.' })
    if (locked.unit.appealIsOver)
      throw new Refusal('order_conflict', { message: 'The appeal period is over.' })
    await appealUnit(tx, locked, input.text)
    return summarizeAssignment(tx, (await findAssignment(tx, own.assignmentId)) ?? own)
  })
