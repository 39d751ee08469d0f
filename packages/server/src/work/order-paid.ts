import { balanceOf, InsufficientBalance, post, type Line } from '../ledger/index.ts'
import { requestRefund, type PaidCheckout, type Settler, type TakenChange } from '../payments/index.ts'
import type { Tx } from '../platform/db.ts'
import { publish } from '../platform/outbox.ts'
import { cardAccounts, escrowOf, escrowReversal } from './rules.ts'
import { findOrderForUpdate, updateOrderStatus, type OrderKey } from './store.ts'

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
const notice = (key: OrderKey, status: string) => ({
  agentId: key.agentId,
  mode: key.mode,
  subject: key.orderId,
  data: { orderId: key.orderId, status },
})

/** An order that waits for its money is funded. Money for one that does not goes back to the card. */
const paid = async (tx: Tx, checkout: PaidCheckout): Promise<void> => {
  const key = keyOf(checkout)
  const order = await findOrderForUpdate(tx, key)
  const funds = order?.status === 'created'
  const to = funds ? escrowOf(key.orderId) : cardAccounts.unused
  const { repeated } = await post(tx, {
    agentId: key.agentId,
    mode: key.mode,
    kind: 'order_payment',
    reference: checkout.checkoutId,
    lines: move(cardAccounts.world, to, checkout.amountUsdCents),
  })
  if (repeated) return
  if (!funds) {
    await requestRefund(
      tx,
      {
        agentId: key.agentId,
        mode: key.mode,
        checkoutId: checkout.checkoutId,
        amountUsdCents: checkout.amountUsdCents,
        reference: `unused ${checkout.checkoutId}`,
        reason: 'the order no longer waited for its money',
      },
      cardSettler,
    )
    return
  }
  await updateOrderStatus(tx, key, 'funded')
  await publish(tx, { ...notice(key, 'funded'), type: 'order.funded' })
}

/** Takes the money out of where it is; what was paid on to somebody already is owed by the buyer. */
const takeOut = async (tx: Tx, checkout: PaidCheckout, change: TakenChange): Promise<void> => {
  const amount = change.afterUsdCents - change.beforeUsdCents
  const { agentId, mode } = checkout
  const book = { agentId, mode, unit: 'usd_cent' } as const
  const escrow = escrowOf(checkout.reference)
  for (let tries = 1; ; tries++) {
    const held = {
      escrow: await balanceOf(tx, { ...book, account: escrow }),
      unused: await balanceOf(tx, { ...book, account: cardAccounts.unused }),
    }
    const lines = escrowReversal(escrow, { amount, own: change.ownUsdCents }, held)
    try {
      await post(tx, { agentId, mode, kind: 'order_reversal', reference: change.reference, lines })
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
    if (delta > 0n) await takeOut(tx, checkout, change)
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
    await publish(tx, { ...notice(key, 'refunded'), type: 'order.refunded' })
  },
  spare: (tx, { agentId, mode }) =>
    balanceOf(tx, { agentId, mode, unit: 'usd_cent', account: cardAccounts.unused }),
}
