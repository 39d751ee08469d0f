import type { Tx } from '../../platform/db/db.ts'
import { paidCheckoutOf, type Settlers } from '../card/apply.ts'
import { lockRefundable, sumRefundsRequested, sumRefundsOutstanding } from './store.ts'
import type { CheckoutRow } from '../store.ts'

/** How much of a paid checkout an operator can refund now. The lock admits one operator at a time. */
export const readRefundable = async (tx: Tx, settlers: Settlers, row: CheckoutRow): Promise<bigint> => {
  await lockRefundable(tx, row.agentId)
  const requested = await sumRefundsRequested(tx, row)
  const returned = row.reversedUsdCents > requested ? row.reversedUsdCents : requested
  const left = row.amountUsdCents - returned
  const open = row.purpose === 'order' ? await sumRefundsOutstanding(tx, row) : 0n
  const refundable = (await settlers[row.purpose].findRefundable(tx, paidCheckoutOf(row))) - open
  const least = left < refundable ? left : refundable
  return least > 0n ? least : 0n
}
