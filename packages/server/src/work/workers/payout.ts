import type { Mode } from '@pohf/protocol'
import { requirePerson } from '../../members/index.ts'
import type { Person, StoreResult } from '../../platform/http/call.ts'
import { inTransaction } from '../../platform/db/db.ts'
import type { WorkerDeps } from '../deps.ts'
import { payeeRefOf } from '../units/rules.ts'

/** Requests a payout of vested Stars; operators review it. */
export const workerPayout = (
  deps: WorkerDeps,
  { personId }: Person,
  request: { readonly mode: Mode; readonly stars: number },
  storeResult: StoreResult,
) =>
  inTransaction(deps.ctx, 'system', async (tx) => {
    await requirePerson(tx, personId)
    const userRef = payeeRefOf(deps.ctx.secrets.derive('worker'), personId)
    const { mode, stars } = request
    return storeResult(
      tx,
      await deps.requestPayout(tx, { agentId: deps.platformAgentOf(mode), mode, userRef, stars }),
    )
  })
