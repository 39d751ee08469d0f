import type { Agent } from '../../platform/http/call.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { UnitDeps } from '../deps.ts'
import { presentUnits, type FindCredentialTokens } from '../orders/present.ts'
import { unitReference } from './rules.ts'
import { acceptUnit, lockUnit, type LockedUnit } from './transitions.ts'
import { findUnit, type UnitKey } from './store.ts'

/** Locks a delivered unit for the review of the buyer; refuses any other. */
export const requireReviewable = async (tx: Tx, key: UnitKey): Promise<LockedUnit> => {
  const locked = await lockUnit(tx, key)
  if (!locked) throw new Refusal('not_found', { message: 'No such unit.' })
  const { unit } = locked
  if (unit.status !== 'delivered')
    throw new Refusal('order_conflict', { message: `This unit is ${unit.status}.` })
  return locked
}

export const presentUnit = async (tx: Tx, locked: LockedUnit, findTokens: FindCredentialTokens) => {
  const reference = unitReference(locked.unit.orderId, locked.unit.n)
  const reviewed = await findUnit(tx, locked.unit)
  if (!reviewed) throw new Error(`unit ${reference} not found after its review`)
  const [presented] = await presentUnits(tx, locked.order, [reviewed], findTokens)
  if (!presented) throw new Error(`unit ${reference}: 1 unit given to present, none presented`)
  return presented
}

export type ReviewDeps = {
  readonly ctx: Ctx
  readonly unitDeps: UnitDeps
  readonly findTokens: FindCredentialTokens
}
/** The buyer accepts a unit. This also posts to the ledger of the platform agent, so no tenant is set. */
export const unitAccept = (
  { ctx, unitDeps, findTokens }: ReviewDeps,
  agent: Agent,
  unit: { readonly orderId: string; readonly n: number },
) =>
  inTransaction(ctx, 'system', async (tx) => {
    const locked = await requireReviewable(tx, { agentId: agent.agentId, mode: agent.mode, ...unit })
    await acceptUnit(tx, unitDeps, locked)
    return presentUnit(tx, locked, findTokens)
  })
