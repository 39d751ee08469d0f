import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { forgingFamilies, forgingFile } from '../../packages/protocol/src/index.ts'
import { forgingEntries } from '../../packages/verify/src/index.ts'
import { needsOf, pricePage } from './price-page.ts'
import { marketPrices, priceTable } from './price.ts'

const root = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const prices = marketPrices.parse(JSON.parse(read('packages/arena/data/market-prices.json')))
const measured = forgingFamilies.parse({
  measuredAt: '2026-11-01',
  families: [
    {
      name: 'small_script',
      kind: 'view',
      root: 'network',
      assurance: 'low',
      successRate: 0.5,
      wallSeconds: 8,
      cpuSeconds: 0.02,
      bytes: 100_000,
      humanSeconds: 0,
      rootsSpent: [{ kind: 'network', acts: 1 }],
      fixed: [],
    },
  ],
})

test('a table is computed from measured families and market prices, and its page shows every input', () => {
  const table = priceTable(prices, measured, '2026-11-02')
  const view = table.entries.find(({ kind }) => kind === 'view')
  // 100 kB at 0.89 USD a gigabyte, twice because every second attempt fails: 0.18 USD for 1,000, rounded down.
  assert.deepEqual(view, {
    kind: 'view',
    root: 'network',
    assurance: 'low',
    costPer1000: 0.1,
    class: 'F0',
    family: 'small_script',
  })
  const page = pricePage(prices, table)
  for (const text of [
    '2026-11-02',
    'small_script',
    'hire_a_person',
    'estimate, not a warranty',
    '50 %',
    '100,000',
  ])
    assert.ok(page.includes(text), text)
  for (const { name, source, assumption } of prices.figures) {
    assert.ok(page.includes(name), name)
    assert.ok(page.includes(source ? source.url : `Assumption: ${assumption}`), name)
  }
})

test('10,000 forgeries in a day need what the budgets say', () => {
  const { addresses, wideNetworks, authenticators, people } = needsOf(10_000)
  assert.deepEqual(
    { addresses, wideNetworks, authenticators, people },
    {
      addresses: 100,
      wideNetworks: 10,
      authenticators: 167,
      people: 50,
    },
  )
})

test('a figure has a source or says that it is an assumption, not both and not neither', () => {
  const figure = { name: 'x', unit: 'USD for one x', low: 1 }
  const source = { title: 'a list', url: 'https://example.com', date: '2026-01-01' }
  const parses = (more: object) =>
    marketPrices.safeParse({ pricedAt: '2026-01-01', figures: [{ ...figure, ...more }] }).success
  assert.deepEqual(
    [parses({ source }), parses({ assumption: 'why' }), parses({}), parses({ source, assumption: 'why' })],
    [true, true, false, false],
  )
  assert.ok(!parses({ source, high: 0.5 }))
})

test('the table of the server is that of the data files, and can be computed again from its own inputs', () => {
  const table = forgingFile.parse(JSON.parse(read('packages/server/src/credentials/forging/prices.json')))
  assert.deepEqual(forgingEntries(table.inputs), table.entries)
  const families = forgingFamilies.parse(JSON.parse(read('packages/arena/data/families.json')))
  assert.deepEqual(priceTable(prices, families, table.date), table, 'run npm run arena -- --price')
  assert.equal(pricePage(prices, table), read('docs/evidence/price.md'), 'run npm run arena -- --price')
})
