import type { Person } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { findAssignment, type Assignment } from './store.ts'
import { presentAssignment } from './present.ts'

/** The person's own assignment; another's answers like one that does not exist. */
export const requireOwnAssignment = async (
  tx: Tx,
  personId: string,
  assignmentId: string,
): Promise<Assignment & { readonly personId: string }> => {
  const found = await findAssignment(tx, assignmentId)
  if (found?.personId !== personId) throw new Refusal('not_found', { message: 'No such work of yours.' })
  return { ...found, personId }
}

export const workerAssignment = (ctx: Ctx, { personId }: Person, assignmentId: string) =>
  inTransaction(ctx, 'system', async (tx) =>
    presentAssignment(tx, await requireOwnAssignment(tx, personId, assignmentId)),
  )
