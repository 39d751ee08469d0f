import { balanceOf, InsufficientBalance, post } from '../../ledger/index.ts'
import { requestRefund, type PaidCheckout, type Settler, type TakenChange } from '../../payments/index.ts'
import type { Tx } from '../../platform/db/db.ts'
import { cardAccounts, escrowOf, escrowReversal } from '../rules.ts'
import { returnLines } from '../units/rules.ts'
import { moveOrder } from './transitions.ts'
import { findOrderForUpdate, type Order, type OrderKey } from './store.ts'

/** The first refusal by the ledger locks the accounts, so the second look at them is the last. */
const attemptsMax = 3

export const keyOf = ({ agentId, mode, reference }: PaidCheckout): OrderKey => ({
  agentId,
  mode,
  orderId: reference,
})

/** Takes money out of where it is; what was paid on to somebody already is owed by the buyer. Says how much is owed. */
export const takeOut = async (tx: Tx, checkout: PaidCheckout, change: TakenChange): Promise<bigint> => {
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
      return -(lines.find(({ account }) => account === cardAccounts.debt)?.amount ?? 0n)
    } catch (error) {
      if (!(error instanceof InsufficientBalance) || tries >= attemptsMax) throw error
    }
  }
}

/** All the money of an order that is over went back. */
export const endRefunded = async (tx: Tx, checkout: PaidCheckout, change: TakenChange): Promise<void> => {
  if (change.afterUsdCents < checkout.amountUsdCents) return
  const order = await findOrderForUpdate(tx, keyOf(checkout))
  if (order?.fundedAt && ['cancelled', 'expired'].includes(order.status))
    await moveOrder(tx, order, 'refunded')
}

/** A refund that we asked for: it takes what was put aside for it. In the sandbox it is there at once. */
const refunding: Settler = {
  paid: () => Promise.reject(new Error('a refund pays for nothing')),
  taken: async (tx, checkout, change) => {
    await takeOut(tx, checkout, change)
    await endRefunded(tx, checkout, change)
  },
  spare: () => Promise.resolve(0n),
}
/** Wants card money back to the card, once for each reference. It is in `unused:card`. */
export const giveBack = async (
  tx: Tx,
  checkout: Omit<PaidCheckout, 'reference'>,
  wish: { readonly reference: string; readonly reason: string },
): Promise<void> => {
  await requestRefund(tx, { ...checkout, ...wish }, refunding)
}

type Back = { readonly usdCents: bigint; readonly reference: string; readonly reason: string }
/** Money that units no longer need leaves the escrow and goes back to who paid. */
export const returnMoney = async (tx: Tx, order: Order, back: Back): Promise<void> => {
  const { usdCents, reference, reason } = back
  if (usdCents === 0n) return
  const { agentId, mode } = order
  const isHouse = order.purpose !== 'buyer'
  await post(tx, {
    agentId,
    mode,
    kind: 'unit_return',
    reference,
    lines: returnLines(order.orderId, usdCents, isHouse),
  })
  if (isHouse || order.checkout === undefined) return
  const { checkoutId } = order.checkout
  await giveBack(
    tx,
    { agentId, mode, checkoutId, amountUsdCents: usdCents },
    { reference: `order ${reference}`, reason },
  )
}
