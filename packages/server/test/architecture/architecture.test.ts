import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { castFaults } from './cast-rules.ts'
import {
  sourceFaults,
  permittedImports,
  ownerFaults,
  readOwnedTables,
  readSources,
  readTables,
  serverRoot,
  unusedEdges,
} from './import-rules.ts'
import { diagramOf, layersOf, moduleGraphOf, packageLinesOf } from './module-graph.ts'

const files = readSources()

test('the sources keep the rules for imports and restricted calls', (t) => {
  assert.ok(files.length >= 50, `saw only ${files.length} files`)
  t.diagnostic(`saw ${files.length} source files`)
  assert.deepEqual(sourceFaults(files), [])
})

test('every permitted import between modules is used', () => {
  assert.deepEqual(unusedEdges(files), [])
  const withoutPurchases = files.filter((file) => !file.path.startsWith('purchases/'))
  assert.ok(unusedEdges(withoutPurchases).includes('purchases never imports work'))
})

test('the diagram in ARCHITECTURE.md is drawn from the imports', () => {
  const page = readFileSync(join(serverRoot, '../../ARCHITECTURE.md'), 'utf8')
  assert.ok(page.includes(diagramOf(moduleGraphOf(files))), 'run npm run generate')
  assert.ok(page.includes(packageLinesOf(files)), 'run npm run generate')
})

test('the importers of a package are found, those of its parts and of its types too', () => {
  assert.equal(
    packageLinesOf([
      { path: 'vhh/rules.ts', text: "import { verify } from '@pohf/verify/vhh'" },
      { path: 'approvals/store.ts', text: "import type { Envelope } from '@pohf/verify'" },
      { path: 'evidence/score.ts', text: "import { score } from '@pohf/scorer'" },
      { path: 'payments/card.ts', text: "import { start } from '@pohf/checkout-simulator'" },
      { path: 'agents/list.ts', text: "import { page } from '@pohf/protocol'" },
      { path: 'agents/list.ts', text: "import { rate } from '@pohf/protocol/vhh'" },
    ]),
    [
      '@pohf/checkout-simulator  imported by payments',
      '@pohf/scorer  imported by evidence',
      '@pohf/verify  imported by approvals vhh',
    ].join('\n'),
  )
})

test('a planted violation is seen: modules that import each other in a circle', () => {
  const circle = moduleGraphOf([
    { path: 'ledger/post.ts', text: "import { x } from '../credits/index.ts'" },
    { path: 'credits/buy.ts', text: "import { x } from '../ledger/index.ts'" },
  ])
  assert.throws(() => layersOf(circle), /circle: ledger, credits/)
})

test('every module is in the import table and has a README', () => {
  const modules = readdirSync(join(serverRoot, 'src'), { withFileTypes: true }).filter(
    (entry) => entry.isDirectory() && !['platform', 'roles', 'wiring'].includes(entry.name),
  )
  for (const { name } of modules) {
    assert.ok(permittedImports[name], `${name} is not in the import table`)
    assert.ok(existsSync(join(serverRoot, 'src', name, 'README.md')), `${name} has no README.md`)
  }
  assert.ok(modules.length >= 16)
})

test('every store names only tables that its own module owns, and every table has one owner', (t) => {
  const tables = readTables()
  const stores = files.filter((file) => file.path.endsWith('store.ts') && !file.path.startsWith('platform/'))
  t.diagnostic(`saw ${stores.length} stores and ${tables.length} tables`)
  assert.ok(stores.length >= 13 && tables.length >= 40)
  assert.deepEqual(
    stores.flatMap((file) => ownerFaults(file, readOwnedTables(file.path.split('/')[0] ?? ''), tables)),
    [],
  )
  const owners = Object.keys(permittedImports)
    .filter((name) => existsSync(join(serverRoot, 'src', name)))
    .flatMap((name) => readOwnedTables(name).filter((table) => tables.includes(table)))
  assert.equal(new Set(owners).size, owners.length, 'a table has two owners')
})

test('a planted violation is seen: a store that reads the table of another module', () => {
  const owned = readOwnedTables('sessions')
  assert.ok(owned.includes('sessions'))
  const faultsIn = (text: string) => ownerFaults({ path: 'sessions/store.ts', text }, owned, readTables())
  assert.deepEqual(faultsIn("tx.selectFrom('sessions')"), [])
  assert.equal(faultsIn("tx.selectFrom('credentials')").length, 1)
  assert.equal(faultsIn('sql`select 1 from sessions join credentials using (agent_id)`').length, 1)
})

test('stores cast to brands only', (t) => {
  const stores = files.filter(({ path }) => path.endsWith('store.ts'))
  t.diagnostic(`saw ${stores.length} stores`)
  assert.ok(stores.length >= 60)
  assert.deepEqual(castFaults(stores), [])
})

test('a planted violation is seen: stores that cast', () => {
  const path = 'work/store.ts'
  const faultsIn = (expression: string) => castFaults([{ path, text: `export const value = ${expression}` }])
  for (const cast of [
    'row as Row',
    '<Row>row',
    'row!',
    'row as unknown',
    "row['kind'] as keyof typeof kinds",
  ])
    assert.deepEqual(faultsIn(cast), [`${path}:1: ${cast}`])
  for (const plain of ['row.agent_id as Tenant', "['a'] as const", 'sql`select 1 as one`'])
    assert.deepEqual(faultsIn(plain), [])
})

const planted: readonly { name: string; path: string; text: string; fault: RegExp }[] = [
  {
    name: 'SQL in a route',
    path: 'agents/routes.ts',
    text: "tx.selectFrom('agents')",
    fault: /SQL outside store/,
  },
  {
    name: 'a raw query in an operation',
    path: 'agents/register.ts',
    text: 'await client.query(text)',
    fault: /SQL outside store/,
  },
  {
    name: 'an import against the graph',
    path: 'ledger/post.ts',
    text: "import { x } from '../credits/index.ts'",
    fault: /ledger may not import credits/,
  },
  {
    name: 'an import past index.ts',
    path: 'credits/buy.ts',
    text: "import { x } from '../ledger/store.ts'",
    fault: /not by index\.ts/,
  },
  {
    name: 'platform that knows a module',
    path: 'platform/http.ts',
    text: "import { x } from '../agents/index.ts'",
    fault: /platform knows no module/,
  },
  {
    name: 'process.env outside config',
    path: 'agents/register.ts',
    text: 'process.env.X',
    fault: /process\.env/,
  },
  {
    name: 'a request outside routes',
    path: 'agents/register.ts',
    text: "import type { FastifyRequest } from 'fastify'",
    fault: /request or reply/,
  },
  {
    name: 'network outside outbound',
    path: 'webhooks/deliver.ts',
    text: 'await fetch(url)',
    fault: /network/,
  },
  {
    name: 'the SDK of the card provider past its client',
    path: 'credits/buy.ts',
    text: "import Stripe from 'stripe'",
    fault: /network/,
  },
  {
    name: 'a client of viem past its file',
    path: 'purchases/buy.ts',
    text: "import { createClient, http } from 'viem'",
    fault: /network/,
  },
  {
    name: 'OpenTelemetry past its file',
    path: 'webhooks/deliver.ts',
    text: "import { trace } from '@opentelemetry/api'",
    fault: /OpenTelemetry outside/,
  },
  { name: 'the process clock in a rule', path: 'work/rules.ts', text: 'Date.now()', fault: /clock/ },
  {
    name: 'an optional transaction',
    path: 'work/store.ts',
    text: 'const f = (tx?: Tx) => 1',
    fault: /tx is optional/,
  },
]
for (const violation of planted) {
  test(`a planted violation is seen: ${violation.name}`, () => {
    const faults = sourceFaults([{ path: violation.path, text: violation.text }])
    assert.ok(
      faults.some((fault) => violation.fault.test(fault)),
      `not seen; got ${JSON.stringify(faults)}`,
    )
  })
}

test('a planted floating promise fails the linter', () => {
  // Outside the sources: other tests read all of those meanwhile.
  const folder = mkdtempSync(join(tmpdir(), 'pohf-planted-'))
  try {
    const file = join(folder, 'floating.ts')
    writeFileSync(
      file,
      'const work = async (): Promise<number> => 1\nexport const start = (): void => {\n  work()\n}\n',
    )
    const run = spawnSync('oxlint', ['--type-aware', file], {
      cwd: join(serverRoot, '../..'),
      encoding: 'utf8',
    })
    assert.equal(run.status, 1, run.stdout)
    assert.match(run.stdout, /no-floating-promises/)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
