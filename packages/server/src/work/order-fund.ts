import type { Mode } from '@pohf/protocol'
import type { Agent } from '../platform/call.ts'
import type { Ctx } from '../platform/context.ts'
import { inTransaction, type Tx } from '../platform/db.ts'
import { Refusal } from '../platform/errors.ts'
import { usdOf } from './rules.ts'
import { findOrderForUpdate, updateOrderCheckout, type OrderKey } from './store.ts'

type Checkout = { readonly checkoutId: string; readonly checkoutUrl: string; readonly expiresAt: Date }
/** Handed down by app.ts: opens a checkout that a person completes, or gives the open one. It may call the network. */
export type OpenCheckout = (request: {
  readonly agentId: string
  readonly mode: Mode
  readonly purpose: 'order'
  readonly reference: string
  readonly amountUsdCents: bigint
  readonly description: string
}) => Promise<Checkout>

/** The order, where it waits for its money; refuses any other. */
const requireUnfunded = async (tx: Tx, key: OrderKey) => {
  const order = await findOrderForUpdate(tx, key)
  if (!order) throw new Refusal('not_found')
  if (order.status !== 'created')
    throw new Refusal('not_found', {
      message: `There is nothing to fund: this order is ${order.status.replace('_', ' ')}.`,
    })
  if (order.isOver)
    throw new Refusal('not_found', { message: 'This order ran out unfunded. Commission it again.' })
  return order
}

/** The checkout of an order: the open one where there is one, else a new one. The order stays as it is until it is paid. */
export const orderFund = async (ctx: Ctx, agent: Agent, input: { orderId: string; open: OpenCheckout }) => {
  const { orderId } = input
  const key = { agentId: agent.agentId, mode: agent.mode, orderId }
  const order = await inTransaction(ctx, agent.agentId, (tx) => requireUnfunded(tx, key))
  let { checkout } = order
  if (!checkout) {
    const opened = await input.open({
      agentId: agent.agentId,
      mode: agent.mode,
      purpose: 'order',
      reference: orderId,
      amountUsdCents: order.totalUsdCents,
      description: `${order.quantity} x ${order.taskType} (${orderId})`,
    })
    await inTransaction(ctx, agent.agentId, async (tx) => {
      // Somebody else's call may have been faster; it has the same checkout.
      if (!(await requireUnfunded(tx, key)).checkout) await updateOrderCheckout(tx, key, opened)
    })
    checkout = opened
  }
  return {
    checkoutUrl: checkout.checkoutUrl,
    orderId,
    amountUsd: usdOf(order.totalUsdCents),
    expiresAt: checkout.expiresAt.toISOString(),
  }
}
