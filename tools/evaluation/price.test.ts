import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { forgingFamilies, forgingFile } from '../../packages/protocol/src/index.ts'
import { readConfig } from '../../packages/server/src/platform/ops/config.ts'
import { budgetsOf, modelCounters, strongBudgetOf } from '../../packages/server/src/roots/rules.ts'
import { costPer1000, forgingEntries } from '../../packages/verify/src/index.ts'
import { needsOf, pricePage } from './price-page.ts'
import { budgets, marketPrices, priceTable } from './price.ts'

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
  for (const text of ['2026-11-02', 'small_script', 'solver', 'estimate, not a warranty', '50 %', '100,000'])
    assert.ok(page.includes(text), text)
  for (const { name, source, assumption } of prices.figures) {
    assert.ok(page.includes(name), name)
    assert.ok(page.includes(source ? source.url : `Assumption: ${assumption}`), name)
  }
})

test('10,000 forgeries in a day need what the budgets say', () => {
  const { addresses, wideNetworks, addressesForModel, wideNetworksForModel, keys, people } = needsOf(10_000)
  assert.deepEqual([addresses, wideNetworks], [100, 10])
  assert.deepEqual([keys, addressesForModel, wideNetworksForModel], [167, 167, 17])
  assert.equal(people, 50)
})

test('the budgets that are priced are those of the server', () => {
  const config = readConfig({ BASE_URL: 'http://127.0.0.1:3000', DATABASE_URL: 'postgres://x' })
  const { narrow, wide } = budgetsOf(config)
  assert.deepEqual(
    [
      budgets.addressActsPerDay,
      budgets.wideNetworkActsPerDay,
      budgets.keyActsPerDay,
      budgets.accountActsPerDay,
    ],
    [narrow.day, wide.day, strongBudgetOf(config, 'authenticator'), strongBudgetOf(config, 'external')],
  )
  const tags = { narrow: 'n', wide: 'w', factor: 1 }
  const model = { kind: 'authenticator', key: 'k', name: 'm' } as const
  assert.deepEqual(
    modelCounters([tags], model, { perDay: budgets.keyActsPerDay, old: false }).map(({ day }) => day),
    [budgets.modelActsPerAddressDay, budgets.modelActsPerWideNetworkDay],
  )
})

const farm = {
  ...measured.families[0],
  name: 'farm',
  root: 'authenticator',
  assurance: 'substantial',
  successRate: 1,
  wallSeconds: 7,
  bytes: 10_000,
  rootsSpent: [
    { kind: 'network', acts: 1 },
    { kind: 'authenticator', acts: 1 },
  ],
}

test('an authenticator serves every address, and its model has 60 acts a day on each', () => {
  const families = forgingFamilies.parse({ ...measured, families: [...measured.families, farm] })
  const { inputs } = priceTable(prices, families, '2026-11-02')
  const [, priced] = inputs.families
  assert.ok(priced)
  // 20 USD over 10,000 acts on 365 days, and 10 kB at 0.89 USD a gigabyte; 0.07 ms of a core-hour do not show.
  const byTraffic = 20 / 3_650_000 + 0.89e-5
  assert.ok(Math.abs(costPer1000(inputs, priced) / 1_000 - byTraffic) < 1e-7)
  // Where only rented addresses are to be had, each serves 60.
  const rented = { ...inputs, networks: inputs.networks.filter(({ name }) => name === 'hosting') }
  const byAddress = 20 / 3_650_000 + 0.036 / 60 + 0.001e-5
  assert.ok(Math.abs(costPer1000(rented, priced) / 1_000 - byAddress) < 1e-7)
  // A hired person is as fast as the fastest family that succeeds.
  assert.equal(inputs.hiredSeconds, 7)
  const failed = { ...farm, name: 'failed', successRate: 0, wallSeconds: 1 }
  const withFailed = forgingFamilies.parse({ ...families, families: [...families.families, failed] })
  const again = priceTable(prices, withFailed, '2026-11-02')
  assert.equal(again.inputs.hiredSeconds, 7)
  assert.match(pricePage(prices, again), /`failed` .* never/)
  assert.match(pricePage(prices, again), /hardly more expensive than `low`/)
})

test('the page says what the shorter check changed for the cheapest script', () => {
  const [script] = measured.families
  assert.ok(script)
  const families = [{ ...script, name: 'lean_script', successRate: 1, wallSeconds: 1.5, bytes: 5_000 }]
  const page = pricePage(prices, priceTable(prices, { ...measured, families }, '2026-11-02'))
  assert.match(page, /then took\n7\.974 s, 29 ms of CPU and 11,790 bytes, which is \$0\.011 for 1,000/)
  assert.match(page, /takes\n1\.5 s, 20 ms of CPU and 5,000 bytes: \$0\.0045\./)
  assert.doesNotMatch(pricePage(prices, priceTable(prices, measured, '2026-11-02')), /became shorter/)
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
