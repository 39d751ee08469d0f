import { post } from '../../ledger/index.ts'
import { checkoutRefusals, type PaidCheckout, type Payments } from '../../payments/index.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import type { Agent } from '../../platform/http/call.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { checkAndNarrow, type Refusals } from '../../platform/http/refusals.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import type { AgentId } from '../../platform/ops/ids.ts'
import { cardAccounts, escrowAccountOf, transferLines, usdOf } from '../rules.ts'
import { isHeldAtFunding } from '../reviews/hold.ts'
import { updateOrderHeldAsNew } from '../reviews/store.ts'
import { claimableUntil } from '../units/rules.ts'
import { insertUnits } from '../units/store.ts'
import { findWorkflow } from '../workflows/store.ts'
import { orderKeyOf, requestCardRefund } from './escrow.ts'
import {
  findOrderForUpdate,
  updateOrderCheckout,
  updateOrderTerms,
  type Order,
  type OrderKey,
} from './store.ts'
import { termsOf } from './create.ts'
import { changeOrderStatus } from './transitions.ts'

// The funding of an order, from top to bottom: the buyer asks for a checkout, the payment arrives, the money goes into
// escrow and the order is split into units. In the sandbox all of it happens in one call. An order of the platform
// (`platform-order.ts`) is paid by the operator and starts at the last step.

// 1. The buyer asks for a checkout.

type OrderLookup = { readonly order: Order | undefined }

const refuseMissing = ({ order }: OrderLookup) => (order ? undefined : new Refusal('not_found'))
const refuseNotCreated = ({ order }: OrderLookup) =>
  order && order.status !== 'created'
    ? new Refusal('not_found', {
        message: `There is nothing to fund: this order is ${order.status.replace('_', ' ')}.`,
      })
    : undefined
const refuseExpired = ({ order }: OrderLookup) =>
  order?.isExpired
    ? new Refusal('not_found', { message: 'This order expired before it was funded. Create a new order.' })
    : undefined
/** With the order locked; a card checkout runs them once more before it is stored. */
const orderRefusals: Refusals<OrderLookup> = [
  ['order_not_found', refuseMissing],
  ['order_not_created', refuseNotCreated],
  ['order_expired', refuseExpired],
]
/** Every refusal of funding, in the order in which they are checked. */
export const fundingRefusals = [...orderRefusals, ...checkoutRefusals] as const

const checkoutRequestOf = (order: Order) => ({
  agentId: order.agentId,
  purpose: 'order' as const,
  reference: order.orderId,
  amountUsdCents: order.totalUsdCents,
  description: `${order.quantity} x ${order.taskType} (${order.orderId})`,
})

type Funding = {
  readonly ctx: Ctx
  readonly payments: Payments
  readonly tenant: AgentId
  readonly key: OrderKey
}
type Checkout = { readonly checkoutUrl: string; readonly expiresAt: Date }
type FundedOrder = { readonly order: Order; readonly checkout: Checkout }

const requireUnfunded = (found: Order | undefined): Order =>
  checkAndNarrow(orderRefusals, { order: found }, ({ order }) => order)

/** In the sandbox nobody pays: the checkout page says so, and the order is funded at once. */
export const fundSandbox = async (
  tx: Tx,
  { payments, key }: Pick<Funding, 'payments' | 'key'>,
): Promise<FundedOrder> => {
  const found = await findOrderForUpdate(tx, key)
  // A repeated call gets the checkout of the first.
  if (found?.fundedAt && found.checkout) return { order: found, checkout: found.checkout }
  const order = requireUnfunded(found)
  const checkout = await payments.openTestCheckout(tx, { ...checkoutRequestOf(order), mode: 'test' })
  await updateOrderCheckout(tx, key, checkout)
  await fundOrder(tx, order, { reference: checkout.checkoutId, amountUsdCents: order.totalUsdCents })
  return { order, checkout }
}

/** The open checkout of the order, or a new one. The call to the provider is outside any transaction. */
export const openCardCheckout = async ({ ctx, payments, tenant, key }: Funding): Promise<FundedOrder> => {
  const order = await inTransaction(ctx, tenant, async (tx) =>
    requireUnfunded(await findOrderForUpdate(tx, key)),
  )
  const checkout = await payments.openCheckout({ ...checkoutRequestOf(order), mode: 'live' })
  if (checkout.checkoutId === order.checkout?.checkoutId) return { order, checkout }
  await inTransaction(ctx, tenant, async (tx) => {
    requireUnfunded(await findOrderForUpdate(tx, key))
    await updateOrderCheckout(tx, key, checkout)
  })
  return { order, checkout }
}

/** Funds an order: the response is the checkout that the buyer pays. */
export const orderFund = async (
  ctx: Ctx,
  { agentId, mode, onlyOrder }: Agent,
  { orderId, payments }: { readonly orderId: string; readonly payments: Payments },
) => {
  // To the bearer of one order every other order is unknown.
  if (onlyOrder !== undefined && onlyOrder !== orderId) throw new Refusal('not_found')
  const funding = { ctx, payments, tenant: agentId, key: { agentId, mode, orderId } }
  const { order, checkout } =
    mode === 'test'
      ? await inTransaction(ctx, agentId, (tx) => fundSandbox(tx, funding))
      : await openCardCheckout(funding)
  return {
    checkoutUrl: checkout.checkoutUrl,
    orderId: order.orderId,
    amountUsd: usdOf(order.totalUsdCents),
    expiresAt: checkout.expiresAt.toISOString(),
  }
}

// 2. The payment arrives: an event of the card provider, in the transaction that applies it.

/** Funds a created order. A payment for an order in another state is refunded to the card. */
export const applyOrderPayment = async (tx: Tx, checkout: PaidCheckout): Promise<void> => {
  const order = await findOrderForUpdate(tx, orderKeyOf(checkout))
  const { agentId, mode, checkoutId, amountUsdCents } = checkout
  if (order?.status === 'created') {
    // The page of an older checkout may be paid. What is returned goes back to the checkout that was paid.
    if (order.checkout && order.checkout.checkoutId !== checkoutId)
      await updateOrderCheckout(tx, order, { ...order.checkout, checkoutId })
    await fundOrder(tx, order, { reference: checkoutId, amountUsdCents })
    return
  }
  const { repeated } = await post(tx, {
    agentId,
    mode,
    kind: 'order_payment',
    reference: checkoutId,
    lines: transferLines(cardAccounts.world, cardAccounts.unused, amountUsdCents),
  })
  if (repeated) return
  await requestCardRefund(
    tx,
    { agentId, mode, checkoutId, amountUsdCents },
    { reference: `unused ${checkoutId}`, reason: 'the order no longer waited for its money' },
  )
}

// 3. The money goes into escrow, and the order is split into units.

type Payment = {
  /** Identifies the payment in the ledger. */
  readonly reference: string
  readonly amountUsdCents: bigint
  /** The account that pays: the card account, unless the operator pays. */
  readonly from?: string
}

/** An order from before terms were stored gets the current terms of its workflow. */
const adoptTerms = async (tx: Tx, order: Order): Promise<boolean> => {
  const workflow = order.workflowId === null ? undefined : await findWorkflow(tx, order.workflowId)
  if (!workflow) return false
  await updateOrderTerms(tx, order, termsOf(workflow))
  return true
}

/** The caller has locked the created order. */
export const fundOrder = async (tx: Tx, order: Order, payment: Payment): Promise<void> => {
  const { agentId, mode, orderId, workflowId, quantity, totalUsdCents } = order
  const { reference, amountUsdCents, from = cardAccounts.world } = payment
  const lines = transferLines(from, escrowAccountOf(orderId), amountUsdCents)
  await post(tx, { agentId, mode, kind: 'order_payment', reference, lines })
  // People find units by the workflow, or, once an operator has set the terms of custom work, by the order.
  const isReady = !order.waitsForOperator && (order.terms !== null || (await adoptTerms(tx, order)))
  const isHeld = await isHeldAtFunding(tx, order)
  const taskId = isReady && !isHeld ? (workflowId ?? orderId) : null
  const openUntil = claimableUntil(order.terms?.answerBy)
  await insertUnits(tx, order, { quantity, totalUsdCents, items: order.itemCount, taskId, openUntil })
  if (isHeld) await updateOrderHeldAsNew(tx, order)
  await changeOrderStatus(tx, order, 'funded')
}
