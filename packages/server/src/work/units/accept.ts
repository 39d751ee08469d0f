import type { Agent } from '../../platform/http/call.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { Books } from '../deps.ts'
import { showUnits, type FindTokens } from '../orders/present.ts'
import { acceptUnit, lockUnit, type Locked } from './transitions.ts'
import { findUnit, type UnitKey } from './store.ts'

/** What the buyer may decide on: delivered, looked at in time, and still paid for. Refuses any other. */
export const requireReviewable = async (tx: Tx, key: UnitKey): Promise<Locked> => {
  const locked = await lockUnit(tx, key)
  if (!locked) throw new Refusal('not_found', { message: 'No such unit.' })
  const { unit } = locked
  if (unit.status !== 'delivered')
    throw new Refusal('order_conflict', { message: `This unit is ${unit.status}.` })
  return locked
}

export const showUnit = async (tx: Tx, locked: Locked, findTokens: FindTokens) => {
  const after = await findUnit(tx, locked.unit)
  if (!after) throw new Error('a unit vanished')
  const [shown] = await showUnits(tx, locked.order, [after], findTokens)
  if (!shown) throw new Error('a unit that cannot be shown')
  return shown
}

type Deciding = {
  readonly ctx: Ctx
  readonly books: Books
  readonly findTokens: FindTokens
}
/** The buyer says yes. The operator's book is written too, so the transaction is nobody's alone. */
export const unitAccept = (
  { ctx, books, findTokens }: Deciding,
  agent: Agent,
  unit: { readonly orderId: string; readonly n: number },
) =>
  inTransaction(ctx, 'system', async (tx) => {
    const locked = await requireReviewable(tx, { agentId: agent.agentId, mode: agent.mode, ...unit })
    await acceptUnit(tx, books, locked)
    return showUnit(tx, locked, findTokens)
  })
