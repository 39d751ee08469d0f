import { readNow, type Tx } from '../platform/db/db.ts'
import { insertLosses, lossMax } from './store.ts'

const hourMs = 3_600_000
/** No budget is longer than a UTC day. */
const hoursMax = 48

type Loss = { readonly hour: number; readonly credentials: number }
type Span = { readonly all: boolean; readonly from: Date | undefined }

/**
 * After a restore: takes the credentials of the lost span as spent of every budget of their hours and days, up to half of
 * each. Where nobody knows how many there were (`all`), it is half. Returns the number of clock hours.
 */
export const recordLosses = async (tx: Tx, { all, from }: Span, known: readonly Loss[]): Promise<number> => {
  const last = Math.floor((await readNow(tx)).getTime() / hourMs)
  const oldest = last - hoursMax + 1
  const first = Math.max(oldest, from ? Math.floor(from.getTime() / hourMs) : oldest)
  const unknown = Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => ({
    hour: first + index,
    credentials: lossMax,
  }))
  const losses = all ? unknown : known.filter(({ hour }) => hour >= oldest)
  await insertLosses(tx, losses)
  return losses.length
}
