import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Client } from 'pg'
import { startCluster } from '../../dev/cluster.ts'
import { migrate } from '../../src/platform/db/migrate.ts'
import { startWorker } from '../../src/platform/queue/worker.ts'
import { buildContext, buildJobs } from '../../src/wiring/index.ts'
import { startHarness, type TestResponse } from '../fixtures/harness.ts'
import { pollUntil } from '../fixtures/polling.ts'
import { assertRefusal } from '../fixtures/refusal.ts'
import { startTcpProxy } from '../fixtures/tcp-proxy.ts'

// A cluster of its own, for its settings are changed, behind a proxy that breaks the network.
const folder = mkdtempSync(join(tmpdir(), 'pohf-faults-'))
const cluster = await startCluster({ folder, settings: { shared_buffers: '16MB', max_connections: '60' } })
const proxy = await startTcpProxy({ host: '127.0.0.1', port: cluster.port })
const owner = new Client({ connectionString: cluster.url('postgres') })
await owner.connect()
await owner.query('create role shop login createrole')
await owner.query('create database shop owner shop')
const databaseUrl = cluster.url('shop').replace('postgres@', 'shop@')
await migrate(databaseUrl)
const shop = new Client({ connectionString: cluster.url('shop') })
await shop.connect()
after(async () => {
  proxy.heal()
  await proxy.close()
  await owner.end()
  await shop.end()
  await cluster.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** A statement expires one second after the limit of the server. Longer limits would outlast the cache of the keys. */
const deadlineMs = 2_000
/** What answers at all answers within this, also on a busy machine; without a deadline it would wait for minutes. */
const promptMs = 15_000
const harness = await startHarness({
  DATABASE_URL: proxy.urlOf(databaseUrl),
  DATABASE_POOL_SIZE: '5',
  DATABASE_WAIT_SECONDS: '1',
  DATABASE_STATEMENT_SECONDS: '1',
})
const { apiKey: key } = await harness.register('test')
let sessions = 0
const verify = (sessionId = `session-${(sessions += 1)}`) =>
  harness.call('POST', '/api/agents/verify', { key, body: { sessionId } })

const timed = async <T>(work: () => Promise<T>): Promise<{ readonly result: T; readonly ms: number }> => {
  const startedAt = performance.now()
  const result = await work()
  return { result, ms: performance.now() - startedAt }
}
const assertUnavailable = (answer: TestResponse): void => {
  assertRefusal(answer, 503, 'overloaded')
  assert.ok(Number(answer.headers['retry-after']) >= 1)
}
const works = (what: string) => pollUntil(what, async () => (await verify()).status === 200)
const readiness = async (query = '') => {
  const { result, ms } = await timed(() => harness.call('GET', `/readyz${query}`))
  assert.ok(ms < promptMs, `/readyz${query} took ${ms} ms`)
  return [result.status, result.text]
}
/** Calls that wait for longer than 3 s fail a check of their own beside that of the database. */
const assertNotReady = async (): Promise<void> => {
  const [status, text] = await readiness()
  assert.equal(status, 503)
  assert.match(String(text), /^not ready: the database check failed$/m)
}
const metricOf = async (name: string): Promise<number> => {
  const metric = await harness.ctx.metrics.registry.getSingleMetricAsString(name)
  return Number(/^\w+ (\d+)$/m.exec(metric)?.[1])
}
/** Opens all connections of the pool, and leaves them idle. */
const fillPool = () =>
  Promise.all(Array.from({ length: 12 }, () => harness.call('GET', '/api/agents/me', { key })))

const countDebits = async () =>
  (await harness.call('GET', '/api/agents/credits/balance', { key })).json.lifetimeConsumed as number
const buyableWork = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'list_verified_work', arguments: {} },
}

/** The jobs of a worker in their loops, with connections of their own. An unhandled rejection would fail this file. */
const startWorkerProcess = () => {
  const ctx = buildContext({ config: harness.ctx.config, log: harness.ctx.log, name: 'pohf-worker' })
  const worker = startWorker(ctx, buildJobs(ctx), 100)
  return {
    stop: async () => {
      await worker.stop()
      await ctx.db.end()
    },
  }
}

test('stranded connections delay one call by its deadline, and all of them are replaced', async () => {
  assert.equal((await verify()).status, 200)
  await fillPool()
  const { pool } = harness.ctx.db
  // A transaction that is stranded halfway would keep its locks, and the next call would wait for them.
  await pollUntil('all connections are idle', async () => pool.idleCount === pool.totalCount)
  const idle = pool.idleCount
  assert.ok(idle >= 4, `${idle} idle connections`)
  proxy.strand()
  const first = await timed(() => verify())
  // The comparison with the signers comes before the mint. Where it takes the stranded connection, the call is only late.
  if (first.result.status !== 200) assertUnavailable(first.result)
  assert.ok(first.ms >= deadlineMs - 100 && first.ms < deadlineMs + promptMs, `refused after ${first.ms} ms`)
  // The others were idle, and are stranded as well: without their replacement each would delay a call.
  for (let call = 0; call < idle; call++) {
    const next = await timed(() => verify())
    assert.equal(next.result.status, 200, harness.lines.slice(-10).join(''))
    assert.ok(next.ms < deadlineMs, `call ${call} took ${next.ms} ms`)
  }
  assert.equal(await metricOf('pohf_database_pool_rebuilds_total'), 1)
  assert.equal(await metricOf('pohf_database_deadlines_total'), 1)
  assert.equal(harness.lines.filter((line) => line.includes('all its connections are closed')).length, 1)
  assert.ok(harness.lines.some((line) => line.includes('idle database connection lost')))
  assert.doesNotMatch(harness.lines.join(''), /secretKey/)
})

test('while the path to the database is stalled, calls get 503 in time, and what needs no database works', async (t) => {
  const sealed = await verify()
  const list = new URL(sealed.json.statusUri).pathname
  const read = [
    list,
    '/.well-known/jwks.json',
    '/api/agents/discovery',
    '/llms.txt',
    '/openapi.json',
    '/livez',
  ]
  for (const path of read) assert.equal((await harness.call('GET', path)).status, 200, path)
  assert.deepEqual(await readiness(), [200, 'ready\n'])

  const worker = startWorkerProcess()
  // Also where the test fails: a worker that runs on keeps this process, and a path that stays stalled fails every later test.
  t.after(async () => {
    proxy.heal()
    await worker.stop()
  })
  proxy.stall()
  const calls = await Promise.all(Array.from({ length: 12 }, () => timed(() => verify())))
  for (const { result, ms } of calls) {
    assertUnavailable(result)
    assert.ok(ms < 2 * deadlineMs + promptMs, `refused after ${ms} ms`)
  }
  await assertNotReady()
  assert.deepEqual(await readiness('?for=read'), [200, 'ready\n'])
  for (const path of read) {
    const { result, ms } = await timed(() => harness.call('GET', path))
    assert.equal(result.status, 200, path)
    assert.ok(ms < promptMs, `${path} took ${ms} ms`)
  }
  const { json: tool } = await harness.call('POST', '/mcp', { body: buyableWork })
  assert.equal(tool.result.isError, true)
  assert.equal(tool.result.structuredContent.error, 'overloaded')
  const metrics = await timed(() => harness.callOperator('GET', '/metrics'))
  assert.equal(metrics.result.status, 200)
  assert.ok(metrics.ms < promptMs, `/metrics took ${metrics.ms} ms`)
  assert.match(metrics.result.text, /^pohf_database_deadlines_total [1-9]/m)
  assert.doesNotMatch(metrics.result.text, /^pohf_(ledger_drift|outbox_oldest_seconds.*) /m)

  proxy.heal()
  await works('verify works again after the stall')
  await pollUntil('the worker works again', async () => {
    const { rows } = await shop.query("select from outbox where topic = 'event' and due_at < now()")
    return rows.length === 0
  })
  await pollUntil('it is ready again', async () => (await harness.call('GET', '/readyz')).status === 200)
  assert.match((await harness.callOperator('GET', '/metrics')).text, /^pohf_ledger_drift 0$/m)
})

test('a mint that commits after its deadline is refused as 503, and a repeat returns it without a second debit', async () => {
  await works('the pool is filled')
  const before = await countDebits()
  await shop.query('begin; lock table credentials in share mode')
  const refused = verify('late')
  await pollUntil('the mint waits for the lock', async () => {
    const { rows } = await owner.query(
      "select from pg_stat_activity where datname = 'shop' and wait_event_type = 'Lock'",
    )
    return rows.length > 0
  })
  proxy.strand()
  await shop.query('commit')
  assertUnavailable(await refused)
  const stored = await shop.query("select credential_id from credential_claims where reference = 'late'")
  assert.equal(stored.rows.length, 1, 'no cancel request was sent, so the statement committed')
  const repeated = await verify('late')
  assert.equal(repeated.status, 200)
  assert.equal(repeated.json.credentialId, stored.rows[0].credential_id)
  assert.equal(await countDebits(), before + 1)
})

test('a read-only database is 503 and never 500; reading goes on, and nothing has to be restarted', async () => {
  await works('the pool is filled')
  await owner.query('alter system set default_transaction_read_only = on')
  await owner.query('select pg_reload_conf()')
  try {
    await pollUntil('/readyz says so', async () => (await harness.call('GET', '/readyz')).status === 503)
    await assertNotReady()
    assert.deepEqual(await readiness('?for=read'), [200, 'ready\n'])
    for (const answer of await Promise.all([
      verify(),
      verify(),
      harness.call('POST', '/api/agents/register', { body: { name: 'Test', contactEmail: 'a@example.com' } }),
    ]))
      assertUnavailable(answer)
    assert.equal((await harness.call('GET', '/api/agents/credits/balance', { key })).status, 200)
  } finally {
    await owner.query('set default_transaction_read_only = off')
    await owner.query('alter system reset default_transaction_read_only')
    await owner.query('select pg_reload_conf()')
  }
  await works('verify works again after the read-only time')
  assert.deepEqual(await readiness(), [200, 'ready\n'])
})

test('connections that are cut, and a host that refuses them, are 503; both recover', async () => {
  for (const fault of [proxy.cut, proxy.refuse]) {
    await works('the pool is filled')
    fault()
    for (const answer of await Promise.all([verify(), verify()]))
      if (answer.status !== 200) assertUnavailable(answer)
    proxy.heal()
    await works('verify works again')
  }
})

test('when the server has no connection left, calls get 503; with one it works again', async () => {
  await owner.query('alter database shop connection limit 0')
  proxy.cut()
  try {
    await pollUntil('the lost connections are noticed', async () => harness.ctx.db.pool.totalCount === 0)
    assertUnavailable(await verify())
    assert.match(harness.lines.join(''), /"code":"53300"/)
  } finally {
    await owner.query('alter database shop connection limit -1')
  }
  await works('verify works again')
})

test('a slow path is slow and nothing else: the process stays ready', async () => {
  await works('the pool is filled')
  await new Promise((resolve) => setTimeout(resolve, 1_000)) // a success is reused for a second
  // 200 ms for a round trip, of the 2 s in which a check must pass: a busy machine needs some of them.
  proxy.delay(100)
  try {
    proxy.cut()
    await pollUntil('the lost connections are noticed', async () => harness.ctx.db.pool.totalCount === 0)
    assert.deepEqual(await readiness(), [200, 'ready\n'])
    assert.equal((await harness.call('GET', '/api/agents/credits/balance', { key })).status, 200)
  } finally {
    proxy.heal()
  }
})

test('many calls of /readyz at once share one check', async () => {
  await works('the pool is filled')
  await pollUntil('the last check is old', async () => {
    const before = harness.ctx.db.statements()
    const answers = await Promise.all(Array.from({ length: 200 }, () => harness.call('GET', '/readyz')))
    for (const answer of answers) assert.equal(answer.status, 200)
    const statements = harness.ctx.db.statements() - before
    assert.ok(statements <= 1, `${statements} statements`)
    return statements === 1
  })
})
