import { balanceOf, post, type Line } from '../../ledger/index.ts'
import type { PaidCheckout, Settler } from '../../payments/index.ts'
import type { Tx } from '../../platform/db/db.ts'
import type { PlatformLedger } from '../deps.ts'
import { markOrderRefunded, requestCardRefund, orderKeyOf, reversePayment } from './escrow.ts'
import { changeOrderStatus } from './transitions.ts'
import { findOrderForUpdate, updateOrderTerms, type Order } from './store.ts'
import { termsOf } from './create.ts'
import { cardAccounts, escrowAccountOf } from '../rules.ts'
import { findWorkflow } from '../store.ts'
import { stopOrderAfterChargeback, clawBackStars } from '../units/chargeback.ts'
import { insertUnits } from '../units/store.ts'

const transferLines = (from: string, to: string, amount: bigint): Line[] => [
  { account: from, unit: 'usd_cent', amount: -amount },
  { account: to, unit: 'usd_cent', amount },
]

type Payment = {
  /** Names the payment for ever. */
  readonly reference: string
  readonly amountUsdCents: bigint
  /** Where the money comes from: a card, unless the operator pays. */
  readonly from?: string
}
/** An order that was made before orders had terms takes those of its workflow now. */
const adoptTerms = async (tx: Tx, order: Order): Promise<boolean> => {
  const workflow = order.workflowId === null ? undefined : await findWorkflow(tx, order.workflowId)
  if (!workflow) return false
  await updateOrderTerms(tx, order, termsOf(workflow))
  return true
}

/** The money is there: it goes into escrow, and the order into units. The order is locked and waits for it. */
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
  // People find it by its workflow, or, once an operator has named what is to be done, by itself.
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

/** An order that waits for its money is funded. Money for one that does not goes back to the card. */
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
 * What a card payment does to an order: it is funded once. Money that is taken back without our asking stops it: what
 * waits ends, what people have in hand is for an operator to pay, and Stars that are not theirs yet are taken back.
 */
export const makeCardSettler = (platformLedger: PlatformLedger): Settler => ({
  applyPayment: settlePaidCheckout,
  applyReversal: async (tx, checkout, change) => {
    const key = orderKeyOf(checkout)
    const delta = change.afterUsdCents - change.beforeUsdCents
    if (delta <= 0n) {
      // A dispute that was won gives money back to an order that may be over: an operator decides.
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
    const stops = order !== undefined && delta > change.ownRefundsUsdCents
    if (stops) await stopOrderAfterChargeback(tx, order, change.reference)
    const owedUsdCents = await reversePayment(tx, checkout, change)
    if (stops) await clawBackStars(tx, platformLedger, order, owedUsdCents)
    await markOrderRefunded(tx, checkout, change)
  },
  findRefundable: (tx, { agentId, mode }) =>
    balanceOf(tx, { agentId, mode, unit: 'usd_cent', account: cardAccounts.unused }),
})
