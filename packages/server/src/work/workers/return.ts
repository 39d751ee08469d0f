import type { Person } from '../../platform/http/call.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { WorkerDeps } from '../deps.ts'
import { findAssignment } from './store.ts'
import { summarizeAssignment } from './present.ts'
import { releaseUnit, lockUnit } from '../units/transitions.ts'
import { requireOwnAssignment } from './assignment.ts'

/** Returns a claimed unit: it is open for other people at once. */
export const workerReturn = (deps: WorkerDeps, { personId }: Person, assignmentId: string) =>
  inTransaction(deps.ctx, 'system', async (tx) => {
    const own = await requireOwnAssignment(tx, personId, assignmentId)
    const locked = await lockUnit(tx, own)
    if (locked?.holder?.assignmentId !== assignmentId || locked.holder.status !== 'claimed')
      throw new Refusal('order_conflict', { message: `This work is ${own.status}.` })
    await releaseUnit(tx, deps, locked, { status: 'returned' })
    return summarizeAssignment(tx, (await findAssignment(tx, assignmentId)) ?? own)
  })
