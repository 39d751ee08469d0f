import { balanceOf, post, type Line } from '../../ledger/index.ts'
import type { PaidCheckout, Settler } from '../../payments/index.ts'
import type { Tx } from '../../platform/db/db.ts'
import type { PlatformLedger } from '../deps.ts'
import { markOrderRefunded, requestCardRefund, orderKeyOf, reversePayment } from './escrow.ts'
import { changeOrderStatus } from './transitions.ts'
import { findOrderForUpdate, updateOrderTerms, type Order } from './store.ts'
import { termsOf } from './create.ts'
import { cardAccounts, escrowAccountOf } from '../rules.ts'
import { findWorkflow } from '../workflows/store.ts'
import { stopOrderAfterChargeback, clawBackStars } from '../units/chargeback.ts'
import { insertUnits } from '../units/store.ts'

const transferLines = (from: string, to: string, amount: bigint): Line[] => [
  { account: from, unit: 'usd_cent', amount: -amount },
  { account: to, unit: 'usd_cent', amount },
]

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

/** Moves the payment into escrow and splits the order into units. The caller has locked the created order. */
export const fundOrder = async (tx: Tx, order: Order, payment: Payment): Promise<void> => {
  await post(tx, {
    agentId: order.agentId,
    mode: order.mode,
    kind: 'order_payment',
    reference: payment.reference,
    lines: transferLines(
      payment.from ?? cardAccounts.world,
      escrowAccountOf(order.orderId),
      payment.amountUsdCents,
    ),
  })
  // People find units by the workflow, or, once an operator has set the terms of custom work, by the order.
  const isReady = !order.waitsForOperator && (order.terms !== null || (await adoptTerms(tx, order)))
  const taskId = isReady ? (order.workflowId ?? order.orderId) : null
  await insertUnits(tx, order, {
    quantity: order.quantity,
    totalUsdCents: order.totalUsdCents,
    items: order.itemCount,
    taskId,
  })
  await changeOrderStatus(tx, order, 'funded')
}

/** Funds a created order. A payment for an order in another state is refunded to the card. */
const settlePaidCheckout = async (tx: Tx, checkout: PaidCheckout): Promise<void> => {
  const order = await findOrderForUpdate(tx, orderKeyOf(checkout))
  const { agentId, mode, checkoutId, amountUsdCents } = checkout
  if (order?.status === 'created') {
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

/**
 * Applies card payments to orders: a payment funds the order once. A chargeback stops it: open units are cancelled, an
 * operator decides about claimed and delivered ones, and Stars that still vest are clawed back.
 */
export const makeCardSettler = (platformLedger: PlatformLedger): Settler => ({
  applyPayment: settlePaidCheckout,
  applyReversal: async (tx, checkout, change) => {
    const key = orderKeyOf(checkout)
    const delta = change.afterUsdCents - change.beforeUsdCents
    if (delta <= 0n) {
      // A won dispute returns money to an order that may have ended: an operator decides about it.
      await post(tx, {
        agentId: key.agentId,
        mode: key.mode,
        kind: 'order_reversal',
        reference: change.reference,
        lines: transferLines(cardAccounts.world, cardAccounts.unused, -delta),
      })
      return
    }
    const order = await findOrderForUpdate(tx, key)
    const stopsOrder = order !== undefined && delta > change.ownRefundsUsdCents
    if (stopsOrder) await stopOrderAfterChargeback(tx, order, change.reference)
    const owedUsdCents = await reversePayment(tx, checkout, change)
    if (stopsOrder) await clawBackStars(tx, platformLedger, order, owedUsdCents)
    await markOrderRefunded(tx, checkout, change)
  },
  findRefundable: (tx, { agentId, mode }) =>
    balanceOf(tx, { agentId, mode, unit: 'usd_cent', account: cardAccounts.unused }),
})
