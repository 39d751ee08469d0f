import { modes } from '@pohf/protocol'
import { balanceOf } from '../../ledger/index.ts'
import type { Person } from '../../platform/http/call.ts'
import { inTransaction } from '../../platform/db/db.ts'
import type { WorkerDeps } from '../deps.ts'
import { findNextVesting } from './stars/store.ts'
import { listAssignments } from './store.ts'
import { findMeasuredWork } from './time/store.ts'
import { summarizeAssignment } from './present.ts'
import { vestingAccountOf, payeeRefOf } from '../units/rules.ts'

const assignmentsMax = 100

/** The Stars of a person in each mode, and their latest assignments. */
export const workerEarnings = (deps: WorkerDeps, { personId }: Person) =>
  inTransaction(deps.ctx, 'system', async (tx) => {
    const worker = payeeRefOf(deps.ctx.secrets.derive('worker'), personId)
    const balances = []
    for (const mode of modes) {
      const ledgerKey = { agentId: deps.platformAgentOf(mode), mode, unit: 'star' } as const
      const vested = await balanceOf(tx, {
        ...ledgerKey,
        account: deps.starsAccountOf(ledgerKey.agentId, worker),
      })
      const { heldStars, paidStars } = await deps.findPayoutSums(tx, { ...ledgerKey, userRef: worker })
      balances.push({
        mode,
        vestingStars: Number(await balanceOf(tx, { ...ledgerKey, account: vestingAccountOf(worker) })),
        vestedStars: Number(vested),
        heldStars: Number(heldStars),
        paidStars: Number(paidStars),
        nextVestsAt: (await findNextVesting(tx, worker, mode))?.toISOString() ?? null,
        measured: (await findMeasuredWork(tx, personId, mode)) ?? null,
        accounts: (await deps.listPayoutAccounts(tx, { mode, worker })).map(({ end, paidAt }) => ({
          end,
          paidAt: paidAt?.toISOString() ?? null,
        })),
      })
    }
    const assignments = []
    for (const assignment of await listAssignments(tx, personId, { limit: assignmentsMax }))
      assignments.push(await summarizeAssignment(tx, assignment))
    return { books: balances, assignments }
  })
