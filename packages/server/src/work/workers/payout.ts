import type { Mode } from '@pohf/protocol'
import { requirePerson } from '../../members/index.ts'
import type { Person, StoreResult } from '../../platform/http/call.ts'
import { inTransaction } from '../../platform/db/db.ts'
import type { WorkerDeps } from '../deps.ts'
import { payeeRefOf } from '../units/rules.ts'

type PayoutRequest = { readonly mode: Mode; readonly stars: number; readonly account: string }

/** Requests a payout of vested Stars to an account of the person; operators review it. */
export const workerPayout = async (
  deps: WorkerDeps,
  { personId }: Person,
  { mode, stars, account }: PayoutRequest,
  storeResult: StoreResult,
) => {
  const requested = await inTransaction(deps.ctx, 'system', async (tx) => {
    await requirePerson(tx, personId)
    const userRef = payeeRefOf(deps.ctx.secrets.derive('worker'), personId)
    const agentId = deps.platformAgentOf(mode)
    const outcome = await deps.requestPayout(tx, { agentId, mode, userRef, stars, account })
    return 'refusal' in outcome ? outcome : storeResult(tx, outcome)
  })
  if ('refusal' in requested) throw requested.refusal
  return requested
}
