import type { Agent } from '../../platform/http/call.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { PlatformLedger } from '../deps.ts'
import { presentUnits, type FindCredentialTokens } from '../orders/present.ts'
import { acceptUnit, lockUnit, type LockedUnit } from './transitions.ts'
import { findUnit, type UnitKey } from './store.ts'

/** What the buyer may decide on: delivered, looked at in time, and still paid for. Refuses any other. */
export const requireReviewable = async (tx: Tx, key: UnitKey): Promise<LockedUnit> => {
  const locked = await lockUnit(tx, key)
  if (!locked) throw new Refusal('not_found', { message: 'No such unit.' })
  const { unit } = locked
  if (unit.status !== 'delivered')
    throw new Refusal('order_conflict', { message: `This unit is ${unit.status}.` })
  return locked
}

export const presentUnit = async (tx: Tx, locked: LockedUnit, findTokens: FindCredentialTokens) => {
  const after = await findUnit(tx, locked.unit)
  if (!after) throw new Error('unit not found after its review')
  const [shown] = await presentUnits(tx, locked.order, [after], findTokens)
  if (!shown) throw new Error('unit could not be presented')
  return shown
}

type ReviewDeps = {
  readonly ctx: Ctx
  readonly platformLedger: PlatformLedger
  readonly findTokens: FindCredentialTokens
}
/** The buyer says yes. The operator's book is written too, so the transaction is nobody's alone. */
export const unitAccept = (
  { ctx, platformLedger: books, findTokens }: ReviewDeps,
  agent: Agent,
  unit: { readonly orderId: string; readonly n: number },
) =>
  inTransaction(ctx, 'system', async (tx) => {
    const locked = await requireReviewable(tx, { agentId: agent.agentId, mode: agent.mode, ...unit })
    await acceptUnit(tx, books, locked)
    return presentUnit(tx, locked, findTokens)
  })
