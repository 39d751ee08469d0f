import type { Ctx } from '../../platform/ops/context.ts'
import type { Tx } from '../../platform/db/db.ts'
import { modes } from '@pohf/protocol'
import type { ListPayoutAccounts, PlatformLedger } from '../deps.ts'
import {
  deleteWorkerAccuracy,
  eraseAssignmentPerson,
  eraseWorkerRef,
  listAssignments,
  listBuyers,
} from './store.ts'
import { presentAssignment } from './present.ts'
import { payeeRefOf, workerRefOf } from '../units/rules.ts'

/** How many assignments an export reads at a time. */
const pageMax = 100

type CompletedWorkDeps = Pick<PlatformLedger, 'platformAgentOf'> & {
  readonly ctx: Ctx
  readonly listPayoutAccounts: ListPayoutAccounts
  /** Removes the link from accounts for payouts to a worker, by the pseudonym in Star accounts. */
  readonly erasePayoutAccounts: (tx: Tx, worker: string) => Promise<void>
}

/** The completed work of a person, for export and erasure. The answers belong to the buyers and stay. */
export const makeCompletedWork = ({
  ctx,
  platformAgentOf,
  listPayoutAccounts,
  erasePayoutAccounts,
}: CompletedWorkDeps) => {
  const payeeOf = (personId: string) => payeeRefOf(ctx.secrets.derive('worker'), personId)
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
      let before: string | undefined
      for (;;) {
        const page = await listAssignments(tx, personId, { before, limit: pageMax })
        for (const assignment of page) assignments.push(await presentAssignment(tx, assignment))
        if (page.length < pageMax) return assignments
        before = page.at(-1)?.assignmentId
      }
    },
    exportPayoutAccounts: async (tx: Tx, personId: string): Promise<readonly object[]> => {
      const accounts = []
      for (const mode of modes)
        for (const account of await listPayoutAccounts(tx, { mode, worker: payeeOf(personId) }))
          accounts.push({ mode, ...account })
      return accounts
    },
    /** Removes every link from units, Stars and accounts for payouts to the person. */
    erasePerson: async (tx: Tx, personId: string): Promise<void> => {
      for (const memberKey of await listMemberKeys(tx, personId)) await eraseWorkerRef(tx, memberKey)
      await eraseAssignmentPerson(tx, personId)
      await deleteWorkerAccuracy(tx, personId)
      await erasePayoutAccounts(tx, payeeOf(personId))
    },
  }
}
