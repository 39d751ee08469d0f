import type { Tx } from '../../platform/db/db.ts'
import { paidOf, type Settlers } from '../card/apply.ts'
import { lockSpare, sumRefundsAsked, sumRefundsOpen } from './store.ts'
import type { CheckoutRow } from '../store.ts'

/** What of a paid checkout is here, is not on its way back, and has nothing standing on it. One operator at a time. */
export const readSpare = async (tx: Tx, settlers: Settlers, row: CheckoutRow): Promise<bigint> => {
  await lockSpare(tx, row.agentId)
  const asked = await sumRefundsAsked(tx, row)
  const gone = row.takenUsdCents > asked ? row.takenUsdCents : asked
  const left = row.amountUsdCents - gone
  const open = row.purpose === 'order' ? await sumRefundsOpen(tx, row) : 0n
  const spare = (await settlers[row.purpose].spare(tx, paidOf(row))) - open
  const least = left < spare ? left : spare
  return least > 0n ? least : 0n
}
