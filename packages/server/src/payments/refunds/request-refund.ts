import type { Tx } from '../../platform/db/db.ts'
import { postTaken, type Settler } from '../card/apply.ts'
import {
  findRefundByReference,
  insertRefund,
  updateTestRefundDone,
  type RefundRow,
  type RefundWish,
} from './store.ts'
import { findCheckoutForUpdate } from '../store.ts'

const isSame = (row: RefundRow, wish: RefundWish): boolean =>
  row.checkoutId === wish.checkoutId && row.amountUsdCents === wish.amountUsdCents

/**
 * Wants a part of a paid checkout given back to the card, once per reference. Nothing is posted here: the caller has
 * moved the money to where its settler takes it from (orders: out of escrow, into `unused:card`), and the provider's
 * message takes it out when it comes. A sandbox checkout has no provider, so its settler is called at once.
 */
export const requestRefund = async (
  tx: Tx,
  wish: RefundWish,
  settler: Settler,
): Promise<Pick<RefundRow, 'refundId' | 'state'>> => {
  const made = (await findRefundByReference(tx, wish))
    ? undefined
    : await insertRefund(tx, tx.ids.make('rfd_'), wish)
  if (!made) {
    const known = await findRefundByReference(tx, wish)
    if (!known || !isSame(known, wish)) throw new Error('this refund was asked for in other words')
    return { refundId: known.refundId, state: known.state }
  }
  if (wish.mode === 'live') return { refundId: made.refundId, state: made.state }
  const row = await findCheckoutForUpdate(tx, wish.checkoutId)
  if (!row) throw new Error('a refund of no checkout')
  await updateTestRefundDone(tx, made)
  await postTaken(tx, settler, row, row.takenUsdCents + wish.amountUsdCents)
  return { refundId: made.refundId, state: 'done' }
}
