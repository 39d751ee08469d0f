import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { forgingFamilies } from '../../packages/protocol/src/index.ts'
import { today } from '../report.ts'
import { pricePage } from './price-page.ts'
import { marketPrices, priceTable } from './price.ts'

const root = join(import.meta.dirname, '../..')
const readJson = (path: string): unknown => JSON.parse(readFileSync(join(root, path), 'utf8'))

/** Reads both data files and writes the table of the server and the page of the documentation. */
export const writePrices = (): void => {
  const prices = marketPrices.parse(readJson('packages/arena/data/market-prices.json'))
  const measured = forgingFamilies.parse(readJson('packages/arena/data/families.json'))
  const table = priceTable(prices, measured, today())
  writeFileSync(
    join(root, 'packages/server/src/credentials/forging/prices.json'),
    `${JSON.stringify(table, null, 2)}\n`,
  )
  writeFileSync(join(root, 'docs/evidence/price.md'), pricePage(prices, table))
}
