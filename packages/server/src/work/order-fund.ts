import type { Mode } from '@pohf/protocol'
import type { Agent } from '../platform/call.ts'
import type { Ctx } from '../platform/context.ts'
import { inTransaction, type Tx } from '../platform/db.ts'
import { Refusal } from '../platform/errors.ts'
import { usdOf } from './rules.ts'
import { findOrderForUpdate, updateOrderCheckout } from './store.ts'

/** Handed down by app.ts: opens a checkout that a person completes. */
export type OpenCheckout = (
  tx: Tx,
  request: {
    readonly agentId: string
    readonly mode: Mode
    readonly purpose: 'order'
    readonly reference: string
    readonly amountUsdCents: bigint
    readonly description: string
  },
) => Promise<{ readonly checkoutId: string; readonly checkoutUrl: string; readonly expiresAt: Date }>

/** The checkout of an order: the open one where there is one, else a new one. The order stays as it is until it is paid. */
export const orderFund = async (ctx: Ctx, agent: Agent, input: { orderId: string; open: OpenCheckout }) =>
  inTransaction(ctx, agent.agentId, async (tx) => {
    const { orderId } = input
    const key = { agentId: agent.agentId, mode: agent.mode, orderId }
    const order = await findOrderForUpdate(tx, key)
    if (!order) throw new Refusal('not_found')
    if (order.status !== 'created')
      throw new Refusal('not_found', {
        message: `There is nothing to fund: this order is ${order.status.replace('_', ' ')}.`,
      })
    if (order.isOver)
      throw new Refusal('not_found', { message: 'This order ran out unfunded. Commission it again.' })
    let { checkout } = order
    if (!checkout) {
      const opened = await input.open(tx, {
        agentId: agent.agentId,
        mode: agent.mode,
        purpose: 'order',
        reference: orderId,
        amountUsdCents: order.totalUsdCents,
        description: `${order.quantity} x ${order.taskType} (${orderId})`,
      })
      await updateOrderCheckout(tx, key, opened)
      checkout = opened
    }
    return {
      checkoutUrl: checkout.checkoutUrl,
      orderId,
      amountUsd: usdOf(order.totalUsdCents),
      expiresAt: checkout.expiresAt.toISOString(),
    }
  })
