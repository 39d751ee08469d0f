import type { Payments } from '../../payments/index.ts'
import type { Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { fundOrder } from './paid.ts'
import { findOrderForUpdate, updateOrderCheckout, type Order, type OrderKey } from './store.ts'
import { usdOf } from '../rules.ts'

/** Locks an order that is not funded yet; refuses any other. */
const requireUnfunded = async (tx: Tx, key: OrderKey): Promise<Order> => {
  const order = await findOrderForUpdate(tx, key)
  if (!order) throw new Refusal('not_found')
  // A sandbox order is funded by this call; a repeated call gets the same checkout.
  if (key.mode === 'test' && order.fundedAt !== null && order.checkout) return order
  if (order.status !== 'created')
    throw new Refusal('not_found', {
      message: `There is nothing to fund: this order is ${order.status.replace('_', ' ')}.`,
    })
  if (order.isExpired)
    throw new Refusal('not_found', { message: 'This order ran out unfunded. Commission it again.' })
  return order
}

const checkoutRequestOf = (order: Order) => ({
  agentId: order.agentId,
  purpose: 'order' as const,
  reference: order.orderId,
  amountUsdCents: order.totalUsdCents,
  description: `${order.quantity} x ${order.taskType} (${order.orderId})`,
})

/** In the sandbox nobody pays: the checkout page says so, and the order is funded at once. */
const fundSandbox = (ctx: Ctx, key: OrderKey, payments: Payments) =>
  inTransaction(ctx, key.agentId as `agt_${string}`, async (tx) => {
    const order = await requireUnfunded(tx, key)
    if (order.fundedAt !== null && order.checkout) return { order, checkout: order.checkout }
    const checkout = await payments.openTestCheckout(tx, { ...checkoutRequestOf(order), mode: 'test' })
    await updateOrderCheckout(tx, key, checkout)
    await fundOrder(tx, order, { reference: checkout.checkoutId, amountUsdCents: order.totalUsdCents })
    return { order, checkout }
  })

const fundByCard = async (ctx: Ctx, key: OrderKey, payments: Payments) => {
  const tenant = key.agentId as `agt_${string}`
  const order = await inTransaction(ctx, tenant, (tx) => requireUnfunded(tx, key))
  if (order.checkout?.isOpen) return { order, checkout: order.checkout }
  const checkout = await payments.openCheckout({ ...checkoutRequestOf(order), mode: 'live' })
  await inTransaction(ctx, tenant, async (tx) => {
    // A concurrent call may have stored its checkout first; it is the same checkout.
    if (!(await requireUnfunded(tx, key)).checkout?.isOpen) await updateOrderCheckout(tx, key, checkout)
  })
  return { order, checkout }
}

/** The open checkout of an order, or a new one. */
export const orderFund = async (
  ctx: Ctx,
  agent: Agent,
  input: { readonly orderId: string; readonly payments: Payments },
) => {
  const key = { agentId: agent.agentId, mode: agent.mode, orderId: input.orderId }
  const fund = agent.mode === 'test' ? fundSandbox : fundByCard
  const { order, checkout } = await fund(ctx, key, input.payments)
  return {
    checkoutUrl: checkout.checkoutUrl,
    orderId: order.orderId,
    amountUsd: usdOf(order.totalUsdCents),
    expiresAt: checkout.expiresAt.toISOString(),
  }
}
