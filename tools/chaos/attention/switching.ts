// An installation changes its engine while it is in use, in both directions. npm run battery -- attention runs it.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { inTransaction } from '../../../packages/server/src/platform/db/db.ts'
import { openServer, openHarness, type Harness } from '../../../packages/server/test/fixtures/harness.ts'
import { addView, type History } from '../../../packages/server/test/fixtures/attention/history.ts'
import {
  backfill,
  checkClickHouse,
  compareStored,
  copyBack,
  eraseDue,
  findSpoolState,
  insertErasure,
  rebuild,
} from '../../../packages/server/src/tracking/index.ts'
import { openTables } from './fixture.ts'

type Tables = Awaited<ReturnType<typeof openTables>>
let tables: Tables
/** On PostgreSQL. */
let first: Harness
/** The same database and keys, on ClickHouse. */
let second: Harness
let history: History
const minutesMs = 60_000

before(async () => {
  tables = await openTables()
  first = await openHarness()
  await first.owner.query("call pohf_make_partitions('sessions', pohf_now() - interval '35 days', 4)")
  const agent = await first.register('live')
  history = { harness: first, agent, now: new Date(), views: [] }
  const { DATABASE_URL: url, DATA_DIR } = first.ctx.config
  await first.stopSigner()
  second = await openServer({ url, environment: { DATA_DIR, CLICKHOUSE_URL: tables.url } })
})
after(async () => {
  await second.close()
  await first.close()
  await tables.close()
})

const goodView = {
  site: 'shop.example' as const,
  workflow: null,
  isOpened: true,
  isScored: true as const,
  quality: 0.95 as const,
  verified: true,
  flags: [],
  probes: 2,
  seconds: 7 as const,
}

/** Two beacons and a conversion of each of some new views. */
const use = async (server: Harness, count: number): Promise<void> => {
  for (let n = 0; n < count; n += 1) {
    const { vt } = await addView(history, { ...goodView, age: n * 45 })
    for (const type of ['load', 'scroll'])
      await server.call('POST', '/api/track/event', { body: { vt, type, path: `/p${n % 3}` } })
    await server.call('POST', '/api/agents/track/conversion', {
      key: history.agent.apiKey,
      body: { vt, name: 'purchase', value: 0.1 * n, currency: 'EUR' },
    })
  }
}

/** What everybody sees, without the moment of the question. */
const figuresOf = async (server: Harness) => {
  const ask = async (path: string) =>
    (await server.call('GET', `/api/agents/metrics/${path}`, { key: history.agent.apiKey })).json
  const { views, landed, engaged, conversions, value, steps } = await ask('funnel?site=shop.example')
  const { pages } = await ask('attention')
  return { views, landed, engaged, conversions, value, steps, pages }
}

const quiet = () => undefined
/** Rows are copied when they are two minutes old. */
const ripen = () => first.advance(3 * minutesMs)

test('PostgreSQL, then ClickHouse: the same figures, with rows of both times', async () => {
  await use(first, 9)
  await ripen()
  // Before the switch: what is there already.
  const early = await backfill(first.ctx, tables.clickhouse, quiet)
  assert.deepEqual([early.beacons, early.conversions], [18, 9])
  await use(first, 4)
  // The switch: from here on the second server takes the calls.
  await use(second, 5)
  await tables.deliver(second)
  await ripen()
  const late = await backfill(second.ctx, tables.clickhouse, quiet)
  assert.deepEqual([late.beacons, late.conversions], [8, 4])
  const shown = await figuresOf(second)
  assert.deepEqual(
    { views: shown.views, landed: shown.landed, engaged: shown.engaged, conversions: shown.conversions },
    { views: 18, landed: 18, engaged: 18, conversions: 18 },
  )
  assert.equal(Number(shown.value.EUR.toPrecision(10)), 3.6 + 0.6 + 1)
  // A run that finds nothing new copies nothing and changes nothing.
  assert.deepEqual(await backfill(second.ctx, tables.clickhouse, quiet), {
    beacons: 0,
    conversions: 0,
    rebuilt: 0,
  })
  assert.deepEqual(await figuresOf(second), shown)
  assert.equal((await compareStored(second.ctx, tables.clickhouse, 1_000)).ok, true)
})

test('what waits is not shown, and `until` says so', async () => {
  const before = await figuresOf(second)
  await use(second, 1)
  assert.deepEqual({ ...(await figuresOf(second)), views: 0, steps: 0 }, { ...before, views: 0, steps: 0 })
  const { oldestAt } = await inTransaction(second.ctx, 'system', findSpoolState)
  const { json } = await second.call('GET', '/api/agents/metrics/funnel', { key: history.agent.apiKey })
  assert.equal(json.until, oldestAt?.toISOString())
  await tables.deliver(second)
  assert.equal((await figuresOf(second)).landed, before.landed + 1)
})

test('back to PostgreSQL: nothing is lost, and a second run changes nothing', async () => {
  const shown = await figuresOf(second)
  await copyBack(second.ctx, tables.clickhouse, quiet)
  assert.deepEqual(await figuresOf(first), shown)
  await copyBack(second.ctx, tables.clickhouse, quiet)
  assert.deepEqual(await figuresOf(first), shown)
})

test('and forth again: rows that ClickHouse has already count once', async () => {
  await use(first, 2)
  await ripen()
  const { rebuilt } = await backfill(first.ctx, tables.clickhouse, quiet)
  assert.ok(rebuilt > 0, 'rows that came back were sent a second time, and their months were counted again')
  assert.deepEqual(await figuresOf(second), await figuresOf(first))
})

test('a planted difference is seen by inspect and repaired by rebuild', async () => {
  const { database } = tables.clickhouse
  await tables.clickhouse.run(
    `INSERT INTO ${database}.beacon_hours SELECT * FROM ${database}.beacon_hours LIMIT 1`,
  )
  const found = await compareStored(second.ctx, tables.clickhouse, 1_000)
  assert.deepEqual([found.ok, found.monthFaults.map(({ table }) => table)], [false, ['beacon_hours']])
  assert.equal((await rebuild(second.ctx, tables.clickhouse)).length, 1)
  assert.equal((await compareStored(second.ctx, tables.clickhouse, 1_000)).monthFaults.length, 0)
})

test('doctor sees a database without tables', async () => {
  assert.deepEqual(await checkClickHouse(tables.url), [])
  const missing = await checkClickHouse(tables.url.replace(/pohf$/, 'empty'))
  assert.equal(missing.length, 9)
  await assert.rejects(checkClickHouse('http://127.0.0.1:9/pohf'))
})

test('erasure of a view and of an agent, also while rows wait', async () => {
  const count = async (sessionId?: string) => {
    const where = sessionId === undefined ? '' : `WHERE session_id = '${sessionId}'`
    const [row] = await tables.clickhouse.select<{ n: number }>(
      `SELECT count() AS n FROM ${tables.clickhouse.database}.beacons FINAL ${where}`,
    )
    return row?.n ?? 0
  }
  const { agentId } = history.agent
  const [view] = history.views
  const sessionId = view?.sessionId ?? ''
  assert.equal(await count(sessionId), 2)
  await inTransaction(second.ctx, 'system', (tx) => insertErasure(tx, { agentId, sessionId }))
  assert.equal(await eraseDue(second.ctx, tables.clickhouse), 1)
  assert.equal(await count(sessionId), 0)
  await use(second, 1)
  await inTransaction(second.ctx, 'system', (tx) => insertErasure(tx, { agentId, sessionId: null }))
  assert.equal((await inTransaction(second.ctx, 'system', findSpoolState)).entries, 0)
  assert.equal(await eraseDue(second.ctx, tables.clickhouse), 1)
  assert.equal(await count(), 0)
  const { landed, conversions, pages } = await figuresOf(second)
  assert.deepEqual({ landed, conversions, pages }, { landed: 0, conversions: 0, pages: [] })
})
