import type { Mode } from '@pohf/protocol'
import type { Tx } from '../../platform/db/db.ts'
import type { PlatformLedger } from '../deps.ts'
import { fundOrder } from './paid.ts'
import { findOrderForUpdate, insertOrder, type Order } from './store.ts'
import type { StoredWorkflow } from '../store.ts'
import { workAccounts, type Terms } from '../units/rules.ts'

type PlatformOrderRequest = {
  readonly workflow: StoredWorkflow
  readonly terms: Terms
  readonly mode: Mode
  readonly quantity: number
  readonly items: readonly unknown[] | undefined
  readonly instructions: string | undefined
  readonly purpose: 'stock' | 'gold'
}
/** An order that the operator pays: it costs what people get for it, and goes the way of every other. */
export const createPlatformOrder = async (
  tx: Tx,
  platformLedger: PlatformLedger,
  request: PlatformOrderRequest,
): Promise<Order> => {
  const { workflow, terms, mode, quantity } = request
  const key = { agentId: platformLedger.platformAgentOf(mode), mode, orderId: tx.ids.make('ord_') }
  // An order is never free: a unit that pays nothing costs a cent, which the operator pays to itself.
  const totalUsdCents = BigInt(Math.max(terms.rewardStars, 1) * quantity)
  await insertOrder(tx, key, {
    taskType: workflow.id,
    workflowId: workflow.id,
    offer: false,
    quantity,
    totalUsdCents,
    capUsdCents: undefined,
    items: request.items,
    instructions: request.instructions,
    callbackRef: undefined,
    terms,
    purpose: request.purpose,
  })
  const order = await findOrderForUpdate(tx, key)
  if (!order) throw new Error('platform order not found after insert')
  await fundOrder(tx, order, {
    reference: key.orderId,
    amountUsdCents: totalUsdCents,
    from: workAccounts.operator,
  })
  return { ...order, status: 'funded' }
}
