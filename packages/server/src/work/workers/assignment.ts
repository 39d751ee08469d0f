import type { Person } from '../platform/call.ts'
import type { Ctx } from '../platform/context.ts'
import { inTransaction, type Tx } from '../platform/db.ts'
import { Refusal } from '../platform/errors.ts'
import { findAssignment, type Assignment } from './people/store.ts'
import { showAssignment } from './show-assignment.ts'

/** The person's own assignment; another's answers like one that does not exist. */
export const requireOwn = async (
  tx: Tx,
  personId: string,
  assignmentId: string,
): Promise<Assignment & { readonly personId: string }> => {
  const found = await findAssignment(tx, assignmentId)
  if (found?.personId !== personId) throw new Refusal('not_found', { message: 'No such work of yours.' })
  return { ...found, personId }
}

export const workerAssignment = (ctx: Ctx, { personId }: Person, assignmentId: string) =>
  inTransaction(ctx, 'system', async (tx) => showAssignment(tx, await requireOwn(tx, personId, assignmentId)))
