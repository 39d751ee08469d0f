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
 * Requests a refund of a part of a paid checkout, once per reference. Nothing is posted here: the caller has moved the
 * money to the account that its settler debits (orders: from escrow to `unused:card`), and the provider's event posts
 * the refund. A sandbox checkout has no provider, so its settler is called at once.
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
      throw new Error(
        `refund reference "${request.reference}" reused with a different checkout or amount than refund ${known?.refundId ?? 'none'}`,
      )
    return { refundId: known.refundId, state: known.state }
  }
  if (request.mode === 'live') return { refundId: made.refundId, state: made.state }
  const row = await findCheckoutForUpdate(tx, request.checkoutId)
  if (!row)
    throw new Error(
      `checkout ${request.checkoutId} not found while completing test refund ${made.refundId} (${request.reference})`,
    )
  await updateTestRefundDone(tx, made)
  await postReversal(tx, settler, row, {
    afterUsdCents: row.reversedUsdCents + request.amountUsdCents,
    isDisputed: false,
  })
  return { refundId: made.refundId, state: 'done' }
}
