import type { Tx } from '../../platform/db/db.ts'
import { postReversal, type Settler } from '../card/apply.ts'
import {
  findRefundByReference,
  insertRefund,
  updateTestRefundDone,
  type RefundRow,
  type RefundRequest,
} from './store.ts'
import { findCheckoutForUpdate } from '../store.ts'

const isSameRequest = (row: RefundRow, request: RefundRequest): boolean =>
  row.checkoutId === request.checkoutId && row.amountUsdCents === request.amountUsdCents

/**
 * Wants a part of a paid checkout given back to the card, once per reference. Nothing is posted here: the caller has
 * moved the money to where its settler takes it from (orders: out of escrow, into `unused:card`), and the provider's
 * message takes it out when it comes. A sandbox checkout has no provider, so its settler is called at once.
 */
export const requestRefund = async (
  tx: Tx,
  request: RefundRequest,
  settler: Settler,
): Promise<Pick<RefundRow, 'refundId' | 'state'>> => {
  const made = (await findRefundByReference(tx, request))
    ? undefined
    : await insertRefund(tx, tx.ids.make('rfd_'), request)
  if (!made) {
    const known = await findRefundByReference(tx, request)
    if (!known || !isSameRequest(known, request))
      throw new Error('refund reference reused with a different checkout or amount')
    return { refundId: known.refundId, state: known.state }
  }
  if (request.mode === 'live') return { refundId: made.refundId, state: made.state }
  const row = await findCheckoutForUpdate(tx, request.checkoutId)
  if (!row) throw new Error('a refund of no checkout')
  await updateTestRefundDone(tx, made)
  await postReversal(tx, settler, row, row.reversedUsdCents + request.amountUsdCents)
  return { refundId: made.refundId, state: 'done' }
}
