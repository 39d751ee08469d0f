import { balanceOf, InsufficientBalance, post } from '../../ledger/index.ts'
import { requestRefund, type PaidCheckout, type Settler, type ReversalChange } from '../../payments/index.ts'
import type { Tx } from '../../platform/db/db.ts'
import type { UnitDeps } from '../deps.ts'
import {
  cardAccounts,
  escrowAccountOf,
  paymentAccountsOf,
  reversalLines,
  type PaymentAccounts,
} from '../rules.ts'
import { returnLines, workAccounts } from '../units/rules.ts'
import { changeOrderStatus } from './transitions.ts'
import { findOrderForUpdate, type Order, type OrderKey } from './store.ts'

/** The first refusal by the ledger locks the accounts, so the second attempt reads final balances. */
const attemptsMax = 3

export const orderKeyOf = ({ agentId, mode, reference }: PaidCheckout): OrderKey => ({
  agentId,
  mode,
  orderId: reference,
})

type Reversal = {
  readonly key: OrderKey
  readonly accounts: PaymentAccounts
  /** Whether this payment filled the escrow: the escrow of another payment is left alone. */
  readonly isInEscrow: boolean
  readonly reference: string
  readonly amountUsdCents: bigint
  readonly ownRefundsUsdCents: bigint
  /**
   * The most to take from the unused account. It is one account for all payments of an agent, so that without a limit one
   * reversal could take what is to be refunded for another. Undefined: all of it.
   */
  readonly unusedMaxUsdCents?: bigint
}
/** Posts the reversal of a payment and returns what the buyer owes: the part that was already paid to people. */
export const postReversal = async (tx: Tx, reversal: Reversal): Promise<bigint> => {
  const { reference, amountUsdCents, ownRefundsUsdCents, isInEscrow } = reversal
  const { agentId, mode, orderId } = reversal.key
  const ledgerKey = { agentId, mode, unit: 'usd_cent' } as const
  const accounts = { ...reversal.accounts, escrow: escrowAccountOf(orderId) }
  const { unusedMaxUsdCents: unusedMax } = reversal
  for (let attempt = 1; ; attempt++) {
    const unused = await balanceOf(tx, { ...ledgerKey, account: accounts.unused })
    const balances = {
      escrow: isInEscrow ? await balanceOf(tx, { ...ledgerKey, account: accounts.escrow }) : 0n,
      unused: unusedMax !== undefined && unusedMax < unused ? unusedMax : unused,
    }
    const lines = reversalLines(accounts, { amount: amountUsdCents, own: ownRefundsUsdCents }, balances)
    try {
      await post(tx, { agentId, mode, kind: 'order_reversal', reference, lines })
      return -(lines.find(({ account }) => account === accounts.debt)?.amount ?? 0n)
    } catch (error) {
      if (!(error instanceof InsufficientBalance) || attempt >= attemptsMax) throw error
    }
  }
}

/** Whether a card payment can have filled the escrow of the order: a purchase over HTTP 402 did not. */
export const isPaidByCard = (order: Order | undefined): boolean => !order || order.purchaseId === null

/** Posts the reversal of a card payment and returns what the buyer owes. */
export const reversePayment = (
  tx: Tx,
  checkout: PaidCheckout,
  change: ReversalChange,
  order: Order | undefined,
): Promise<bigint> =>
  postReversal(tx, {
    key: orderKeyOf(checkout),
    accounts: cardAccounts,
    isInEscrow: isPaidByCard(order),
    reference: change.reference,
    amountUsdCents: change.afterUsdCents - change.beforeUsdCents,
    ownRefundsUsdCents: change.ownRefundsUsdCents,
  })

/** Marks an ended order as refunded once its whole payment was returned. */
export const markOrderRefunded = async (
  tx: Tx,
  checkout: PaidCheckout,
  change: ReversalChange,
): Promise<void> => {
  if (change.afterUsdCents < checkout.amountUsdCents) return
  const order = await findOrderForUpdate(tx, orderKeyOf(checkout))
  if (order?.fundedAt && isPaidByCard(order) && ['cancelled', 'expired'].includes(order.status))
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
    await reversePayment(tx, checkout, change, await findOrderForUpdate(tx, orderKeyOf(checkout)))
    await markOrderRefunded(tx, checkout, change)
  },
  applyDisputes: () => Promise.resolve(),
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
/** Returns the escrow of units that have ended unpaid to the payer of the order: card, wallet or operator. */
export const returnEscrow = async (
  tx: Tx,
  { returnPurchase }: Pick<UnitDeps, 'returnPurchase'>,
  order: Order,
  escrowReturn: EscrowReturn,
): Promise<void> => {
  const { usdCents, reference, reason } = escrowReturn
  if (usdCents === 0n) return
  const { agentId, mode, orderId, purchaseId } = order
  const isPlatformOrder = order.purpose !== 'buyer'
  const to = isPlatformOrder ? workAccounts.operator : paymentAccountsOf(order).unused
  const lines = returnLines(orderId, usdCents, to)
  await post(tx, { agentId, mode, kind: 'unit_return', reference, lines })
  if (purchaseId !== null) {
    await returnPurchase(tx, { agentId, mode, purchaseId }, reason)
    return
  }
  if (isPlatformOrder || order.checkout === undefined) return
  const { checkoutId } = order.checkout
  await requestCardRefund(
    tx,
    { agentId, mode, checkoutId, amountUsdCents: usdCents },
    { reference: `order ${reference}`, reason },
  )
}
