import type { Ctx } from '../../platform/ops/context.ts'
import type { Tx } from '../../platform/db/db.ts'
import { deleteWorkerAccuracy, eraseAssignmentPerson, listAssignments, listBuyers } from './store.ts'
import { presentAssignment } from './present.ts'
import { workerRefOf } from '../units/rules.ts'
import { eraseWorkerRef } from '../units/store.ts'

/** More than anybody did; a bound all the same. */
const assignmentsMax = 10_000

/** What a person did for buyers of work: where, what, and how it is forgotten. The answers belong to the buyers. */
export const makeCompletedWork = (ctx: Ctx) => {
  const listMemberKeys = async (tx: Tx, personId: string) => {
    const key = ctx.secrets.derive('worker')
    return (await listBuyers(tx, personId)).map(({ agentId, mode }) => ({
      agentId,
      mode,
      memberId: workerRefOf(key, { agentId, mode, personId }),
    }))
  }
  return {
    listMemberKeys,
    exportPerson: async (tx: Tx, personId: string): Promise<readonly object[]> => {
      const assignments = []
      for (const assignment of await listAssignments(tx, personId, assignmentsMax))
        assignments.push(await presentAssignment(tx, assignment))
      return assignments
    },
    /** Nothing leads from a unit to the person any more, nor from the person's Stars. */
    erasePerson: async (tx: Tx, personId: string): Promise<void> => {
      for (const place of await listMemberKeys(tx, personId)) await eraseWorkerRef(tx, place)
      await eraseAssignmentPerson(tx, personId)
      await deleteWorkerAccuracy(tx, personId)
    },
  }
}
