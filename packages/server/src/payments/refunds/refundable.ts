import type { Tx } from '../../platform/db/db.ts'
import { paidCheckoutOf, type Settlers } from '../card/apply.ts'
import { lockRefundable, sumRefundsRequested, sumRefundsOutstanding } from './store.ts'
import type { CheckoutRow } from '../store.ts'

/** What of a paid checkout is here, is not on its way back, and has nothing standing on it. One operator at a time. */
export const readRefundable = async (tx: Tx, settlers: Settlers, row: CheckoutRow): Promise<bigint> => {
  await lockRefundable(tx, row.agentId)
  const asked = await sumRefundsRequested(tx, row)
  const gone = row.reversedUsdCents > asked ? row.reversedUsdCents : asked
  const left = row.amountUsdCents - gone
  const open = row.purpose === 'order' ? await sumRefundsOutstanding(tx, row) : 0n
  const refundable = (await settlers[row.purpose].findRefundable(tx, paidCheckoutOf(row))) - open
  const least = left < refundable ? left : refundable
  return least > 0n ? least : 0n
}
