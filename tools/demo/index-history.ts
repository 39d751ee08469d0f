// Settled work of generated buyers and workers, for the history of the index. The service closes and signs its months itself.
import {
  insertBuyers,
  insertSettledUnits,
  makeSettledUnits,
} from '../../packages/server/test/fixtures/payments/settled-work.ts'
import type { Random } from './random.ts'
import type { Demo } from './service.ts'

const buyers = 24
const workers = 60
const firstUsdPerHour = 16.4
/** Few units of many minutes: a month needs 100 hours of each category, however few units they are. */
const secondsOf = (random: Random): number => random.integer(600, 2_400)
const categories = ['judgement', 'labelling']

const monthStarts = (from: number, to: number): Date[] => {
  const starts: Date[] = []
  const first = new Date(from)
  for (let n = 0; ; n++) {
    const start = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + n))
    if (start.getTime() > to) return starts
    starts.push(start)
  }
}

/** Work of every month from the clock of the harness to `until`: a little more, and a little dearer, each month. */
export const seedIndexHistory = async ({ harness, random }: Demo, until: number): Promise<void> => {
  const companies = await insertBuyers(harness.owner, buyers)
  let usdPerHour = firstUsdPerHour
  for (const [n, from] of monthStarts(harness.ctx.clock.now().getTime(), until).entries()) {
    usdPerHour *= random.between(0.985, 1.035)
    const market = {
      buyers: companies,
      workers,
      unitsPerBuyer: 20 + n,
      from,
      usdPerHour,
      categories,
      secondsOf,
    }
    const units = makeSettledUnits(market, n + 1).filter(({ at }) => Date.parse(at) < until)
    await insertSettledUnits(harness.owner, units)
  }
}
