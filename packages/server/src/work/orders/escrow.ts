import { balanceOf, InsufficientBalance, post } from '../../ledger/index.ts'
import { requestRefund, type PaidCheckout, type Settler, type ReversalChange } from '../../payments/index.ts'
import type { Tx } from '../../platform/db/db.ts'
import { cardAccounts, escrowAccountOf, reversalLines } from '../rules.ts'
import { returnLines } from '../units/rules.ts'
import { changeOrderStatus } from './transitions.ts'
import { findOrderForUpdate, type Order, type OrderKey } from './store.ts'

/** The first refusal by the ledger locks the accounts, so the second attempt reads final balances. */
const attemptsMax = 3

export const orderKeyOf = ({ agentId, mode, reference }: PaidCheckout): OrderKey => ({
  agentId,
  mode,
  orderId: reference,
})

/** Posts the reversal of a payment and returns what the buyer owes: the part that was already paid to people. */
export const reversePayment = async (
  tx: Tx,
  checkout: PaidCheckout,
  change: ReversalChange,
): Promise<bigint> => {
  const amount = change.afterUsdCents - change.beforeUsdCents
  const { agentId, mode } = checkout
  const ledgerKey = { agentId, mode, unit: 'usd_cent' } as const
  const escrow = escrowAccountOf(checkout.reference)
  for (let attempt = 1; ; attempt++) {
    const balances = {
      escrow: await balanceOf(tx, { ...ledgerKey, account: escrow }),
      unused: await balanceOf(tx, { ...ledgerKey, account: cardAccounts.unused }),
    }
    const lines = reversalLines(escrow, { amount, own: change.ownRefundsUsdCents }, balances)
    try {
      await post(tx, { agentId, mode, kind: 'order_reversal', reference: change.reference, lines })
      return -(lines.find(({ account }) => account === cardAccounts.debt)?.amount ?? 0n)
    } catch (error) {
      if (!(error instanceof InsufficientBalance) || attempt >= attemptsMax) throw error
    }
  }
}

/** Marks an ended order as refunded once its whole payment was returned. */
export const markOrderRefunded = async (
  tx: Tx,
  checkout: PaidCheckout,
  change: ReversalChange,
): Promise<void> => {
  if (change.afterUsdCents < checkout.amountUsdCents) return
  const order = await findOrderForUpdate(tx, orderKeyOf(checkout))
  if (order?.fundedAt && ['cancelled', 'expired'].includes(order.status))
    await changeOrderStatus(tx, order, 'refunded')
}

/** Applies a refund that we requested, from the unused account. In the sandbox a refund completes at once. */
const refundSettler: Settler = {
  applyPayment: (_tx, { checkoutId, reference }) =>
    Promise.reject(
      new Error(
        `payment of checkout ${checkoutId} for order ${reference} applied by the settler of refunds: expected a reversal`,
      ),
    ),
  applyReversal: async (tx, checkout, change) => {
    await reversePayment(tx, checkout, change)
    await markOrderRefunded(tx, checkout, change)
  },
  findRefundable: () => Promise.resolve(0n),
}
/** Requests a refund to the card from `unused:card`, once for each reference. */
export const requestCardRefund = async (
  tx: Tx,
  checkout: Omit<PaidCheckout, 'reference'>,
  refundRequest: { readonly reference: string; readonly reason: string },
): Promise<void> => {
  await requestRefund(tx, { ...checkout, ...refundRequest }, refundSettler)
}

type EscrowReturn = { readonly usdCents: bigint; readonly reference: string; readonly reason: string }
/** Returns the escrow of units that have ended unpaid to the payer of the order. */
export const returnEscrow = async (tx: Tx, order: Order, escrowReturn: EscrowReturn): Promise<void> => {
  const { usdCents, reference, reason } = escrowReturn
  if (usdCents === 0n) return
  const { agentId, mode } = order
  const isPlatformOrder = order.purpose !== 'buyer'
  await post(tx, {
    agentId,
    mode,
    kind: 'unit_return',
    reference,
    lines: returnLines(order.orderId, usdCents, isPlatformOrder),
  })
  if (isPlatformOrder || order.checkout === undefined) return
  const { checkoutId } = order.checkout
  await requestCardRefund(
    tx,
    { agentId, mode, checkoutId, amountUsdCents: usdCents },
    { reference: `order ${reference}`, reason },
  )
}
