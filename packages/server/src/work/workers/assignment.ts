import type { Person } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { findAssignment, type Assignment } from './store.ts'
import { presentAssignment } from './present.ts'

export type OwnAssignment = Assignment & { readonly personId: string }

/** The person's own assignment; that of another person is as unknown as one that does not exist. */
export const findOwnAssignment = async (
  tx: Tx,
  personId: string,
  assignmentId: string,
): Promise<OwnAssignment | undefined> => {
  const found = await findAssignment(tx, assignmentId)
  return found?.personId === personId ? { ...found, personId } : undefined
}

export const noSuchAssignment = () => new Refusal('not_found', { message: 'You have no such unit of work.' })

export const requireOwnAssignment = async (
  tx: Tx,
  personId: string,
  assignmentId: string,
): Promise<OwnAssignment> => {
  const assignment = await findOwnAssignment(tx, personId, assignmentId)
  if (!assignment) throw noSuchAssignment()
  return assignment
}

export const workerAssignment = (ctx: Ctx, { personId }: Person, assignmentId: string) =>
  inTransaction(ctx, 'system', async (tx) =>
    presentAssignment(tx, await requireOwnAssignment(tx, personId, assignmentId)),
  )
