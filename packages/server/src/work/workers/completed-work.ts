import type { Ctx } from '../../platform/ops/context.ts'
import type { Tx } from '../../platform/db/db.ts'
import type { PlatformLedger } from '../deps.ts'
import {
  deleteWorkerAccuracy,
  eraseAssignmentPerson,
  eraseWorkerRef,
  listAssignments,
  listBuyers,
} from './store.ts'
import { presentAssignment } from './present.ts'
import { workerRefOf } from '../units/rules.ts'

/** An upper bound, above what any person has done. */
const assignmentsMax = 10_000

/** The completed work of a person, for export and erasure. The answers belong to the buyers and stay. */
export const makeCompletedWork = (ctx: Ctx, platformAgentOf: PlatformLedger['platformAgentOf']) => {
  const listMemberKeys = async (tx: Tx, personId: string) => {
    const key = ctx.secrets.derive('worker')
    return (await listBuyers(tx, personId)).flatMap(({ agentId, mode }) => {
      const memberId = workerRefOf(key, { agentId, mode, personId })
      // Recordings of known-answer items belong to the platform agent, under the name that the buyer has.
      return [...new Set([agentId, platformAgentOf(mode)])].map((owner) => ({
        agentId: owner,
        mode,
        memberId,
      }))
    })
  }
  return {
    listMemberKeys,
    exportPerson: async (tx: Tx, personId: string): Promise<readonly object[]> => {
      const assignments = []
      for (const assignment of await listAssignments(tx, personId, assignmentsMax))
        assignments.push(await presentAssignment(tx, assignment))
      return assignments
    },
    /** Removes every link from units and Stars to the person. */
    erasePerson: async (tx: Tx, personId: string): Promise<void> => {
      for (const memberKey of await listMemberKeys(tx, personId)) await eraseWorkerRef(tx, memberKey)
      await eraseAssignmentPerson(tx, personId)
      await deleteWorkerAccuracy(tx, personId)
    },
  }
}
