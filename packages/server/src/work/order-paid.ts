import { balanceOf, InsufficientBalance, post, type Line } from '../ledger/index.ts'
import type { PaidCheckout, Settler } from '../payments/index.ts'
import type { Tx } from '../platform/db.ts'
import { findOrderForUpdate, updateOrderStatus, type Order, type OrderKey } from './orders/store.ts'
import { cardAccounts, escrowOf, escrowReversal } from './rules.ts'
import { moveOrder, tellOrder } from './units/steps.ts'
import { insertUnits } from './units/store.ts'

/** The first refusal by the ledger locks the accounts, so the second look at them is the last. */
const attemptsMax = 3

const keyOf = ({ agentId, mode, reference }: PaidCheckout): OrderKey => ({
  agentId,
  mode,
  orderId: reference,
})
const move = (from: string, to: string, amount: bigint): Line[] => [
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
/** The money is there: it goes into escrow, and the order into units. The order is locked and waits for it. */
export const fundOrder = async (tx: Tx, order: Order, payment: Payment): Promise<void> => {
  await post(tx, {
    agentId: order.agentId,
    mode: order.mode,
    kind: 'order_payment',
    reference: payment.reference,
    lines: move(payment.from ?? cardAccounts.world, escrowOf(order.orderId), payment.amountUsdCents),
  })
  // People find it by its workflow, or, once an operator has named what is to be done, by itself.
  const taskId = order.terms && !order.waitsForOperator ? (order.workflowId ?? order.orderId) : null
  await insertUnits(tx, order, {
    quantity: order.quantity,
    totalUsdCents: order.totalUsdCents,
    items: order.itemCount,
    taskId,
  })
  await moveOrder(tx, order, 'funded')
}

/** An order that waits for its money is funded. Money for one that does not is held until it is given back. */
const paid = async (tx: Tx, checkout: PaidCheckout): Promise<void> => {
  const key = keyOf(checkout)
  const order = await findOrderForUpdate(tx, key)
  if (order?.status === 'created') {
    await fundOrder(tx, order, { reference: checkout.checkoutId, amountUsdCents: checkout.amountUsdCents })
    return
  }
  await post(tx, {
    agentId: key.agentId,
    mode: key.mode,
    kind: 'order_payment',
    reference: checkout.checkoutId,
    lines: move(cardAccounts.world, cardAccounts.unused, checkout.amountUsdCents),
  })
}

/** Takes the money out of escrow; what was paid on to somebody already is owed by the buyer. */
const takeOut = async (tx: Tx, checkout: PaidCheckout, amount: bigint, reference: string): Promise<void> => {
  const { agentId, mode } = checkout
  const book = { agentId, mode, unit: 'usd_cent' } as const
  const escrow = escrowOf(checkout.reference)
  for (let tries = 1; ; tries++) {
    const held = {
      escrow: await balanceOf(tx, { ...book, account: escrow }),
      unused: await balanceOf(tx, { ...book, account: cardAccounts.unused }),
    }
    const lines = escrowReversal(escrow, amount, held)
    try {
      await post(tx, { agentId, mode, kind: 'order_reversal', reference, lines })
      return
    } catch (error) {
      if (!(error instanceof InsufficientBalance) || tries >= attemptsMax) throw error
    }
  }
}

/** What a card payment does to an order: it is funded once, and ends where all its money is taken back before work began. */
export const cardSettler: Settler = {
  paid,
  taken: async (tx, checkout, change) => {
    const key = keyOf(checkout)
    const order = await findOrderForUpdate(tx, key)
    const delta = change.afterUsdCents - change.beforeUsdCents
    if (delta > 0n) await takeOut(tx, checkout, delta, change.reference)
    // A dispute that was won gives money back to an order that may be over: an operator decides.
    else
      await post(tx, {
        agentId: key.agentId,
        mode: key.mode,
        kind: 'order_reversal',
        reference: change.reference,
        lines: move(cardAccounts.world, cardAccounts.unused, -delta),
      })
    if (order?.status !== 'funded' || change.afterUsdCents < checkout.amountUsdCents) return
    await updateOrderStatus(tx, key, 'cancelled')
    await updateOrderStatus(tx, key, 'refunded')
    await tellOrder(tx, key, 'refunded')
  },
}
