import type { Mode } from '@pohf/protocol'
import type { Tx } from '../../platform/db/db.ts'
import type { Books } from '../deps.ts'
import { fundOrder } from './paid.ts'
import { findOrderForUpdate, insertOrder, type Order } from './store.ts'
import type { OfferedWorkflow } from '../store.ts'
import { workAccounts, type Terms } from '../units/rules.ts'

type House = {
  readonly workflow: OfferedWorkflow
  readonly terms: Terms
  readonly mode: Mode
  readonly quantity: number
  readonly items: readonly unknown[] | undefined
  readonly instructions: string | undefined
  readonly purpose: 'stock' | 'gold'
}
/** An order that the operator pays: it costs what people get for it, and goes the way of every other. */
export const orderByHouse = async (tx: Tx, books: Books, wanted: House): Promise<Order> => {
  const { workflow, terms, mode, quantity } = wanted
  const key = { agentId: books.houseOf(mode), mode, orderId: tx.ids.make('ord_') }
  // An order is never free: a unit that pays nothing costs a cent, which the operator pays to itself.
  const totalUsdCents = BigInt(Math.max(terms.rewardStars, 1) * quantity)
  await insertOrder(tx, key, {
    taskType: workflow.id,
    workflowId: workflow.id,
    offer: false,
    quantity,
    totalUsdCents,
    capUsdCents: undefined,
    items: wanted.items,
    instructions: wanted.instructions,
    callbackRef: undefined,
    terms,
    purpose: wanted.purpose,
  })
  const order = await findOrderForUpdate(tx, key)
  if (!order) throw new Error('an order vanished')
  await fundOrder(tx, order, {
    reference: key.orderId,
    amountUsdCents: totalUsdCents,
    from: workAccounts.operator,
  })
  return { ...order, status: 'funded' }
}
