import type { Mode } from '@pohf/protocol'
import type { Tx } from '../../platform/db/db.ts'
import type { PlatformLedger } from '../deps.ts'
import { fundOrder } from './fund.ts'
import { findOrderForUpdate, insertOrder, type Order } from './store.ts'
import type { OrderTerms } from '../../platform/db/columns.ts'
import { workAccounts } from '../units/rules.ts'

type PlatformOrderRequest = {
  readonly workflowId: string
  readonly terms: OrderTerms
  readonly mode: Mode
  readonly quantity: number
  readonly items: readonly unknown[] | undefined
  readonly instructions: string | undefined
  readonly purpose: 'stock' | 'gold'
}
/** Creates an order that the operator pays, at the price of its rewards; otherwise an order like any other. */
export const createPlatformOrder = async (
  tx: Tx,
  platformLedger: PlatformLedger,
  request: PlatformOrderRequest,
): Promise<Order> => {
  const { workflowId, terms, mode, quantity } = request
  const key = { agentId: platformLedger.platformAgentOf(mode), mode, orderId: tx.ids.make('ord_') }
  // An order is never free: a unit without reward costs the operator one cent.
  const totalUsdCents = BigInt(Math.max(terms.rewardStars, 1) * quantity)
  await insertOrder(tx, key, {
    taskType: workflowId,
    workflowId,
    offer: false,
    quantity,
    totalUsdCents,
    capUsdCents: undefined,
    items: request.items,
    instructions: request.instructions,
    callbackRef: undefined,
    terms,
    purpose: request.purpose,
    needsReview: false,
  })
  const order = await findOrderForUpdate(tx, key)
  if (!order)
    throw new Error(`order ${key.orderId} of the platform not found after its insert for ${workflowId}`)
  await fundOrder(tx, order, {
    reference: key.orderId,
    amountUsdCents: totalUsdCents,
    from: workAccounts.operator,
  })
  return { ...order, status: 'funded' }
}
