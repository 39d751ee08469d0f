import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { forgingFamilies, forgingFile } from '../../packages/protocol/src/index.ts'
import { today } from '../report.ts'
import { pricePage, rowTable } from './price-page.ts'
import { priceRow, rootSets } from './price-rows.ts'
import { marketPrices, priceTable, rootWays, type PriceData } from './price.ts'
import { isRecomputed } from './recompute.ts'

const root = join(import.meta.dirname, '../..')
const readJson = (path: string): unknown => JSON.parse(readFileSync(join(root, path), 'utf8'))
const tablePath = 'packages/server/src/credentials/forging/prices.json'

export const readPriceData = (): PriceData => ({
  prices: marketPrices.parse(readJson('packages/arena/data/market-prices.json')),
  roots: rootWays.parse(readJson('packages/arena/data/roots.json')),
  measured: forgingFamilies.parse(readJson('packages/arena/data/families.json')),
})

/** Writes the table of the server and the page of the documentation from the data files. */
const writePrices = (): void => {
  const data = readPriceData()
  const table = priceTable(data, today())
  writeFileSync(join(root, tablePath), `${JSON.stringify(table, null, 2)}\n`)
  writeFileSync(join(root, 'docs/evidence/price.md'), pricePage(data, table))
}

/**
 * Prints what views cost by the published table, and whether an independent computation and the data files agree with it. With
 * `json` it writes no file, and prints an object as the last line.
 */
export const showPrices = ({ json }: { readonly json: boolean }): void => {
  if (!json) writePrices()
  const table = forgingFile.parse(readJson(tablePath))
  const rows = rootSets(table.inputs).map((names) => priceRow(table.inputs, 'view', names))
  const recomputed =
    isRecomputed(table, 'view', rows) && isDeepStrictEqual(priceTable(readPriceData(), table.date), table)
  console.log(rowTable(table, 'view'))
  console.log(`\nComputed again from the published inputs: ${recomputed ? 'the same' : 'NOT the same'}.`)
  if (json) console.log(JSON.stringify({ table: rows, recomputed }))
  if (!recomputed) process.exitCode = 1
}
