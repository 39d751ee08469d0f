import type { Ctx } from '../../platform/ops/context.ts'
import type { Tx } from '../../platform/db/db.ts'
import { deleteStanding, forgetPerson, listAssignments, listBuyers } from './store.ts'
import { showAssignment } from './present.ts'
import { workerRefOf } from '../units/rules.ts'
import { forgetWorkerRef } from '../units/store.ts'

/** More than anybody did; a bound all the same. */
const assignmentsMax = 10_000

/** What a person did for buyers of work: where, what, and how it is forgotten. The answers belong to the buyers. */
export const makeWorked = (ctx: Ctx) => {
  const places = async (tx: Tx, personId: string) => {
    const key = ctx.secrets.derive('worker')
    return (await listBuyers(tx, personId)).map(({ agentId, mode }) => ({
      agentId,
      mode,
      memberId: workerRefOf(key, { agentId, mode, personId }),
    }))
  }
  return {
    places,
    tell: async (tx: Tx, personId: string): Promise<readonly object[]> => {
      const told = []
      for (const assignment of await listAssignments(tx, personId, assignmentsMax))
        told.push(await showAssignment(tx, assignment))
      return told
    },
    /** Nothing leads from a unit to the person any more, nor from the person's Stars. */
    forget: async (tx: Tx, personId: string): Promise<void> => {
      for (const place of await places(tx, personId)) await forgetWorkerRef(tx, place)
      await forgetPerson(tx, personId)
      await deleteStanding(tx, personId)
    },
  }
}
