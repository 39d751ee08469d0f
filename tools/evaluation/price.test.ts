import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { forgingFamilies, forgingFile, rootKinds } from '../../packages/protocol/src/index.ts'
import { readConfig } from '../../packages/server/src/platform/ops/config.ts'
import { budgetsOf, modelCounters, shownBudgetOf } from '../../packages/server/src/roots/rules.ts'
import { forgingEntries, type ForgingPrice } from '../../packages/verify/src/index.ts'
import { needsOf, pricePage } from './price-page.ts'
import { priceRow, rootSets, unroundedHumans } from './price-rows.ts'
import { budgets, forgingInputsOf, marketPrices, priceTable, rootWays } from './price.ts'
import { isRecomputed } from './recompute.ts'
import { readPriceData } from './write-prices.ts'

const root = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const data = readPriceData()
const published = forgingFile.parse(JSON.parse(read('packages/server/src/credentials/forging/prices.json')))
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
      bytes: 10_000,
      humanSeconds: 0,
      rootsSpent: [{ kind: 'network', acts: 1 }],
      fixed: [],
    },
  ],
})

test('a table is computed from measured families, market prices and ways, and its page shows every input', () => {
  const given = { ...data, measured }
  const table = priceTable(given, '2026-11-02')
  const view = table.entries.find(({ kind, root: name }) => kind === 'view' && name === 'network')
  // 10 kB at 0.89 USD a gigabyte, twice because every second attempt fails: 0.018 USD for 1,000, rounded down.
  const price = { usd: 0.01, class: 'F0' }
  assert.deepEqual(view, {
    kind: 'view',
    root: 'network',
    level: 'low',
    actsB: price,
    acts10: price,
    acts1: price,
    humans: price,
  })
  const page = pricePage(given, table)
  for (const text of [
    '2026-11-02',
    'small_script',
    'hired person',
    'estimate, not a warranty',
    '50 %',
    '10,000',
  ])
    assert.ok(page.includes(text), text)
  for (const { name, source, measured: report, assumption } of data.prices.figures) {
    assert.ok(page.includes(`\`${name}\``), name)
    assert.ok(page.includes(source?.url ?? report?.what ?? `Assumption: ${assumption}`), name)
  }
  for (const [name, { ways }] of Object.entries(data.roots)) {
    assert.ok(page.includes(`\`${name}\``), name)
    for (const { assumption } of ways) assert.ok(page.includes(assumption ?? ''), name)
  }
})

test('10,000 forgeries in a day need what the budgets say', () => {
  const { addresses, wideNetworks, addressesForModel, wideNetworksForModel, keys, countedUnits } =
    needsOf(10_000)
  assert.deepEqual([addresses, wideNetworks], [100, 10])
  assert.deepEqual([keys, addressesForModel, wideNetworksForModel], [167, 167, 17])
  assert.equal(countedUnits, 50)
})

test('the budgets that are priced are those of the server', () => {
  const config = readConfig({ BASE_URL: 'http://127.0.0.1:3000', DATABASE_URL: 'postgres://x' })
  const { narrow, wide } = budgetsOf(config)
  assert.deepEqual(
    [budgets.addressActsPerDay, budgets.wideNetworkActsPerDay, budgets.keyActsPerDay],
    [narrow.day, wide.day, shownBudgetOf(config, 'authenticator')],
  )
  const counted = rootKinds.filter((kind) => data.roots[kind]?.counted)
  assert.ok(counted.length >= 8)
  for (const kind of counted)
    assert.deepEqual(
      [data.roots[kind]?.actsPerDay, kind === 'network' ? undefined : shownBudgetOf(config, kind)],
      [budgets.countedActsPerDay, budgets.countedActsPerDay],
    )
  const tags = { narrow: 'n', wide: 'w', factor: 1 }
  const model = {
    kind: 'authenticator',
    class: 'device:fido',
    key: 'k',
    name: 'm',
    level: 'substantial',
    counted: false,
    fresh: true,
    at: new Date(0),
  } as const
  assert.deepEqual(
    modelCounters([tags], model, { perDay: budgets.keyActsPerDay, old: false }).map(({ day }) => day),
    [budgets.modelActsPerAddressDay, budgets.modelActsPerWideNetworkDay],
  )
})

/** What each kind of root is: its class, whether it counts humans, and its level. A credential says the same of it. */
const facts = {
  network: ['address', false, 'low'],
  authenticator: ['device:fido', false, 'substantial'],
  app: ['device:phone', false, 'substantial'],
  privacy_pass: ['device:phone', false, 'low'],
  sms: ['number', true, 'low'],
  card: ['bank', true, 'low'],
  payout_account: ['bank', true, 'substantial'],
  bond: ['deposit', true, 'substantial'],
  pid: ['document', false, 'substantial'],
  pid_number: ['document', true, 'high'],
  world_id: ['biometric:world', true, 'high'],
  world_id_fresh: ['biometric:world', true, 'high'],
  vendor: ['document', true, 'high'],
  organization: ['employer', true, 'named'],
} as const

test('the table has every kind of root with its class, level and count, and one variant', () => {
  const found = Object.entries(data.roots).map(([name, { class: group, counted, level }]) => [
    name,
    [group, counted, level],
  ])
  assert.deepEqual(Object.fromEntries(found), facts)
  assert.deepEqual(
    Object.keys(facts)
      .filter((name) => name !== 'world_id_fresh')
      .toSorted(),
    rootKinds.toSorted(),
  )
  for (const [name, { confirmed, level, ways }] of Object.entries(data.roots)) {
    assert.equal(confirmed, name === 'world_id_fresh')
    assert.equal(ways.length === 0, level === 'named' || name === 'network', name)
  }
})

/** Acts at the ceiling, at 10 and at 1 a day; people; and people before rounding, then without anybody who is hired. */
const views: Readonly<Record<string, readonly [string, string, string, string, string?, string?]>> = {
  network: ['F0 0.001', 'F0 0.001', 'F0 0.001', 'F0 0.001', '0.0047', '0.0047'],
  authenticator: ['F0 0.01', 'F0 0.01', 'F0 0.01', 'F0 0.01', '0.010', '0.010'],
  app: ['F0 0.001', 'F0 0.001', 'F0 0.001', 'F0 0.001', '0.0073', '0.0073'],
  privacy_pass: ['F0 0.001', 'F0 0.001', 'F0 0.001', 'F0 0.001', '0.0073', '0.0073'],
  pid: ['F0 0.001', 'F0 0.001', 'F0 0.001', 'F0 0.001', '0.0050', 'none'],
  sms: ['F0 0.01', 'F0 0.1', 'F1 1', 'F2 10', '80', '80'],
  card: ['F0 0.1', 'F1 1', 'F1 1', 'F2 10', '30', '30'],
  payout_account: ['F0 0.001', 'F0 0.01', 'F0 0.1', 'F2 10', '22', '5.0e+2'],
  bond: ['F0 0.01', 'F0 0.1', 'F1 1', 'F2 10', '99', '99'],
  pid_number: ['F0 0.001', 'F0 0.01', 'F0 0.01', 'F2 10', '22', 'none'],
  world_id: ['F0 0.001', 'F0 0.01', 'F0 0.01', 'F2 10', '22', '3.0e+4'],
  world_id_fresh: ['F0 0.1', 'F0 0.1', 'F0 0.1', 'F2 10', '22', '3.0e+4'],
  vendor: ['F0 0.1', 'F1 1', 'F2 10', 'F4 1000', '8.0e+3', '1.5e+4'],
  organization: ['named', 'named', 'named', 'named'],
  'world_id sms': ['F0 0.01', 'F0 0.1', 'F1 1', 'F3 100', '1.0e+2', '3.0e+4'],
  'world_id bond': ['F0 0.01', 'F0 0.1', 'F1 1', 'F3 100', '1.2e+2', '3.0e+4'],
  'world_id payout_account': ['F0 0.001', 'F0 0.01', 'F0 0.1', 'F2 10', '22', '3.1e+4'],
  'world_id vendor': ['F0 0.1', 'F1 1', 'F2 10', 'F4 1000', '8.0e+3', '4.5e+4'],
  'vendor pid_number': ['F0 0.1', 'F1 1', 'F2 10', 'F4 1000', '8.0e+3', 'none'],
  'payout_account card': ['F0 0.1', 'F1 1', 'F1 1', 'F2 10', '30', '5.0e+2'],
  'payout_account authenticator': ['F0 0.01', 'F0 0.01', 'F0 0.1', 'F2 10', '22', '5.0e+2'],
  'world_id organization': ['F0 0.001', 'F0 0.01', 'F0 0.01', 'F2 10', '22', '3.0e+4'],
}
const others: Readonly<Record<string, readonly [string, string, string, string]>> = {
  'personhood network': ['F0 0.001', 'F0 0.001', 'F0 0.001', 'F0 0.001'],
  'personhood authenticator': ['F0 0.01', 'F0 0.01', 'F0 0.01', 'F0 0.01'],
  'personhood payout_account': ['F0 0.01', 'F0 0.01', 'F0 0.1', 'F2 10'],
  'personhood world_id': ['F0 0.001', 'F0 0.01', 'F0 0.01', 'F2 10'],
  'personhood vendor': ['F0 0.1', 'F1 1', 'F2 10', 'F4 1000'],
  'work network': ['F0 0.1', 'F0 0.1', 'F0 0.1', 'F0 0.1'],
  'work authenticator': ['F0 0.1', 'F0 0.1', 'F0 0.1', 'F0 0.1'],
  'work payout_account': ['F0 0.1', 'F0 0.1', 'F1 1', 'F2 10'],
  'work world_id': ['F0 0.1', 'F0 0.1', 'F0 0.1', 'F2 10'],
  'work vendor': ['F0 0.1', 'F1 1', 'F2 10', 'F4 1000'],
}
const textOf = (price: ForgingPrice): string => (price === 'named' ? 'named' : `${price.class} ${price.usd}`)
const pricesOf = (kind: 'view' | 'personhood' | 'work', names: readonly string[]): string[] => {
  const { actsB, acts10, acts1, humans } = priceRow(published.inputs, kind, names)
  return [actsB, acts10, acts1, humans].map(textOf)
}

test('the published prices of views are those that were decided, for every root and combination', () => {
  const found = Object.fromEntries(
    rootSets(published.inputs).map((names) => {
      const humans = unroundedHumans(published.inputs, 'view', names)
      const unrounded = humans ? [humans.floor.toPrecision(2), humans.bought?.toPrecision(2) ?? 'none'] : []
      return [names.join(' '), [...pricesOf('view', names), ...unrounded]]
    }),
  )
  assert.deepEqual(found, views)
  for (const [name, prices] of Object.entries(others)) {
    const [kind, ...names] = name.split(' ')
    assert.deepEqual(pricesOf(kind as 'work', names), prices, name)
  }
})

test('people behind every root of the level high cost F2 at least', () => {
  const high = published.entries.filter(({ level }) => level === 'high')
  assert.equal(high.length, 4 * 6)
  for (const { kind, root: name, humans } of high) assert.match(textOf(humans), /^F[234] /, `${kind} ${name}`)
})

test('an independent computation in another language agrees, and notices a price that is wrong', () => {
  const rows = rootSets(published.inputs).map((names) => priceRow(published.inputs, 'view', names))
  assert.equal(isRecomputed(published, 'view', rows), true)
  const [first, ...entries] = published.entries
  assert.ok(first)
  const wrong = {
    ...published,
    entries: [{ ...first, humans: { usd: 10, class: 'F2' as const } }, ...entries],
  }
  assert.equal(isRecomputed(wrong, 'view', rows), false)
  const [row, ...more] = rows
  assert.ok(row)
  assert.equal(isRecomputed(published, 'view', [{ ...row, actsB: 'named' }, ...more]), false)
  const cheaper = { ...published, inputs: { ...published.inputs, searchUsd: 0.0001 } }
  assert.equal(isRecomputed(cheaper, 'view', rows), false)
})

test('--price --json writes no file, and its last line has the table of views', () => {
  const before = read('docs/evidence/price.md')
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(root, 'tools/evaluation/arena.ts'), '--price', '--json'],
    { encoding: 'utf8' },
  )
  assert.equal(status, 0, stderr)
  const { table, recomputed } = JSON.parse(stdout.trim().split('\n').at(-1) ?? '')
  assert.equal(recomputed, true)
  assert.equal(table.length, Object.keys(views).length)
  assert.deepEqual(Object.keys(table[0]), ['roots', 'level', 'actsB', 'acts10', 'acts1', 'humans'])
  assert.deepEqual(table.at(-1).roots, ['world_id', 'organization'])
  assert.equal(table.at(-1).level, 'high, named')
  assert.equal(read('docs/evidence/price.md'), before)
})

test('the page compares a script with one that has an authenticator', () => {
  assert.match(pricePage(data, published), /hardly more expensive than `low`/)
  const [failed] = measured.families
  assert.ok(failed)
  const families = [...measured.families, { ...failed, name: 'failed', successRate: 0 }]
  const given = { ...data, measured: { ...measured, families } }
  assert.match(pricePage(given, priceTable(given, '2026-11-02')), /`failed` .* never/)
})

test('a figure has a source, a measurement or the word that it is an assumption, and only one of them', () => {
  const figure = { name: 'x', unit: 'USD for one x', low: 1 }
  const source = { title: 'a list', url: 'https://example.com', date: '2026-01-01' }
  const report = { report: 'docs/reports/2026-11-16-check.md', what: 'the fastest' }
  const parses = (more: object) =>
    marketPrices.safeParse({ pricedAt: '2026-01-01', figures: [{ ...figure, ...more }] }).success
  for (const more of [{ source }, { measured: report }, { assumption: 'why' }]) assert.ok(parses(more))
  for (const more of [
    {},
    { source, assumption: 'why' },
    { source, measured: report },
    { source, high: 0.5 },
    { measured: { ...report, report: 'docs/guides/arena.md' } },
  ])
    assert.ok(!parses(more), JSON.stringify(more))
})

const parsesWay = (more: object) =>
  rootWays.safeParse({
    x: {
      class: 'document',
      level: 'high',
      counted: true,
      actsPerDay: 200,
      ways: [{ by: 'hire', usd: 0, subjects: 1, lifeDays: 'world_id_life_days', ...more }],
    },
  }).success

test('a way without a figure costs nothing and says so, and one with an unknown figure stops the table', () => {
  assert.deepEqual(
    [parsesWay({}), parsesWay({ assumption: 'why' }), parsesWay({ usd: 5, assumption: 'why' })],
    [false, true, false],
  )
  const { world_id: known } = data.roots
  assert.ok(known)
  const ways = [{ by: 'buy', usd: 'moon', subjects: 1, lifeDays: 'world_id_life_days' } as const]
  assert.throws(() => forgingInputsOf({ ...data, roots: { world_id: { ...known, ways } } }), /no figure moon/)
})

test('every figure is used: by a way, a family, a wage or a time', () => {
  const used = new Set<string>()
  const figures = data.prices.figures.map((figure) => ({
    ...figure,
    get low(): number {
      used.add(figure.name)
      return figure.low
    },
  }))
  forgingInputsOf({ ...data, prices: { ...data.prices, figures } })
  assert.deepEqual(
    data.prices.figures.map(({ name }) => name).filter((name) => !used.has(name)),
    [],
  )
})

test('the table of the server is that of the data files, and can be computed again from its own inputs', () => {
  assert.deepEqual(forgingEntries(published.inputs), published.entries)
  assert.deepEqual(priceTable(data, published.date), published, 'run npm run arena -- --price')
  assert.equal(pricePage(data, published), read('docs/evidence/price.md'), 'run npm run arena -- --price')
})
