import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test, type TestContext } from 'node:test'
import { Client } from 'pg'
import { startCluster } from '../../dev/cluster.ts'
import { migrate } from '../../src/platform/db/migrate.ts'
import { startWorker } from '../../src/platform/queue/worker.ts'
import { buildContext, buildJobs } from '../../src/wiring/index.ts'
import { openServer, startHarness, type Harness, type TestResponse } from '../fixtures/harness.ts'
import { endsByItself, holdLimits } from '../fixtures/time/held-limits.ts'
import { pollUntil } from '../fixtures/polling.ts'
import { moveProcessTime } from '../fixtures/time/process-time.ts'
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
const urlAsOwner = (name: string) => cluster.url(name).replace('postgres@', 'shop@')
await migrate(urlAsOwner('shop'))
await owner.query('create database stalled template shop owner shop')
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

/** What answers at all answers within this, also on a busy machine; without a deadline it would wait for minutes. */
const promptMs = 15_000
/** A limit that no statement meets on a busy machine. A statement expires one second later; tests let it expire at once. */
const statementSeconds = 30
const deadlineMs = (statementSeconds + 1) * 1_000
const harness = await startHarness({
  DATABASE_URL: proxy.urlOf(urlAsOwner('shop')),
  DATABASE_POOL_SIZE: '5',
  DATABASE_WAIT_SECONDS: String(statementSeconds),
  DATABASE_STATEMENT_SECONDS: String(statementSeconds),
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
const readiness = async (query = '', on = harness) => {
  const { result, ms } = await timed(() => on.call('GET', `/readyz${query}`))
  assert.ok(ms < promptMs, `/readyz${query} took ${ms} ms`)
  return [result.status, result.text]
}
/** Calls that wait for longer than 3 s fail a check of their own beside that of the database. */
const assertNotReady = async (on = harness): Promise<void> => {
  const [status, text] = await readiness('', on)
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
/** Resets all connections, and waits until the pool has let go of each. Writing the request log may have opened another by then. */
const cutConnections = async (): Promise<void> => {
  const { pool } = harness.ctx.db
  let left = pool.totalCount
  const countDown = () => (left -= 1)
  pool.on('remove', countDown)
  proxy.cut()
  await pollUntil('the lost connections are noticed', async () => left <= 0)
  pool.off('remove', countDown)
}

const countDebits = async () =>
  (await harness.call('GET', '/api/agents/credits/balance', { key })).json.lifetimeConsumed as number
const buyableWork = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'list_verified_work', arguments: {} },
}

test('stranded connections delay one call by its deadline, and all of them are replaced', async (t) => {
  assert.equal((await verify()).status, 200)
  await fillPool()
  const { pool } = harness.ctx.db
  // A transaction that is stranded halfway would keep its locks, and the next call would wait for them.
  await pollUntil('all connections are idle', async () => pool.idleCount === pool.totalCount)
  const idle = pool.idleCount
  assert.ok(idle >= 4, `${idle} idle connections`)
  const limits = holdLimits(t, deadlineMs)
  proxy.strand()
  const delayed = verify()
  const [stranded] = await pollUntil(
    'a statement waits for its answer',
    async () => limits.running().length > 0 && limits.running(),
  )
  limits.runOut([stranded])
  const first = await endsByItself('the first call', delayed)
  // The comparison with the signers comes before the mint. Where it takes the stranded connection, the call is only late.
  if (first.status !== 200) assertUnavailable(first)
  // The others were idle, and are stranded as well: without their replacement each would delay a call.
  for (let call = 0; call < idle; call++) {
    const next = await endsByItself(`call ${call}`, verify())
    assert.equal(next.status, 200, harness.lines.slice(-10).join(''))
  }
  assert.equal(await metricOf('pohf_database_pool_rebuilds_total'), 1)
  assert.equal(await metricOf('pohf_database_deadlines_total'), 1)
  assert.equal(harness.lines.filter((line) => line.includes('all its connections are closed')).length, 1)
  assert.ok(harness.lines.some((line) => line.includes('idle database connection lost')))
  assert.doesNotMatch(harness.lines.join(''), /secretKey/)
})

/** Of the server that stalls. Longer ones would outlast the cache of the keys. */
const stalledLimitSeconds = 1
const stalledDeadlineMs = (stalledLimitSeconds + 1) * 1_000

/** A server whose path to the database can stall, and the loops of its worker, with connections of their own. */
const openStallingServer = async (t: TestContext) => {
  const path = await startTcpProxy({ host: '127.0.0.1', port: cluster.port })
  const server = await openServer({
    url: cluster.url('stalled'),
    environment: {
      DATABASE_URL: path.urlOf(urlAsOwner('stalled')),
      DATA_DIR: join(folder, 'stalled'),
      DATABASE_POOL_SIZE: '5',
      DATABASE_WAIT_SECONDS: String(stalledLimitSeconds),
      DATABASE_STATEMENT_SECONDS: String(stalledLimitSeconds),
    },
  })
  const { log, config } = server.ctx
  // An unhandled rejection of a job would fail this file.
  const ctx = buildContext({ config, log, name: 'pohf-worker' })
  const worker = startWorker(ctx, buildJobs(ctx), 100)
  // Also where the test fails: a worker that runs on keeps this process.
  t.after(async () => {
    path.heal()
    await worker.stop()
    await ctx.db.end()
    await server.close()
    await path.close()
  })
  const agent = await pollUntil('an agent registers', async () => {
    const made = await server.register('test')
    return made.apiKey !== undefined && made
  })
  let count = 0
  const verifyThere = () =>
    server.call('POST', '/api/agents/verify', {
      key: agent.apiKey,
      body: { sessionId: `stalled-${(count += 1)}` },
    })
  return { server, path, verify: verifyThere }
}
/** A server that answers within its short limits, which a busy machine may miss now and then. */
const answers = (what: string, call: () => Promise<TestResponse>): Promise<TestResponse> =>
  pollUntil(what, async () => {
    const answer = await call()
    return answer.status === 200 && answer
  })

/** What a server answers without a database. */
const assertServes = async (server: Harness, paths: readonly string[]): Promise<void> => {
  for (const path of paths) {
    const { result, ms } = await timed(() => server.call('GET', path))
    assert.equal(result.status, 200, path)
    assert.ok(ms < promptMs, `${path} took ${ms} ms`)
  }
}

test('while the path to the database is stalled, calls get 503 in time, and what needs no database works', async (t) => {
  const { server, path, verify: verifyThere } = await openStallingServer(t)
  const sealed = await answers('a mint', verifyThere)
  const list = new URL(sealed.json.statusUri).pathname
  const read = [
    list,
    '/.well-known/jwks.json',
    '/api/agents/discovery',
    '/llms.txt',
    '/openapi.json',
    '/livez',
  ]
  for (const each of read) await answers(each, () => server.call('GET', each))
  await answers('it is ready', () => server.call('GET', '/readyz'))

  path.stall()
  const calls = await Promise.all(Array.from({ length: 12 }, () => timed(verifyThere)))
  for (const { result, ms } of calls) {
    assertUnavailable(result)
    assert.ok(ms < 2 * stalledDeadlineMs + promptMs, `refused after ${ms} ms`)
  }
  await assertNotReady(server)
  assert.deepEqual(await readiness('?for=read', server), [200, 'ready\n'])
  await assertServes(server, read)
  const { json: tool } = await server.call('POST', '/mcp', { body: buyableWork })
  assert.equal(tool.result.isError, true)
  assert.equal(tool.result.structuredContent.error, 'overloaded')
  const metrics = await timed(() => server.callOperator('GET', '/metrics'))
  assert.equal(metrics.result.status, 200)
  assert.ok(metrics.ms < promptMs, `/metrics took ${metrics.ms} ms`)
  assert.match(metrics.result.text, /^pohf_database_deadlines_total [1-9]/m)
  assert.doesNotMatch(metrics.result.text, /^pohf_(ledger_drift|outbox_oldest_seconds.*) /m)

  path.heal()
  await answers('verify works again after the stall', verifyThere)
  await pollUntil('the worker works again', async () => {
    const { rows } = await server.owner.query("select from outbox where topic = 'event' and due_at < now()")
    return rows.length === 0
  })
  await answers('it is ready again', () => server.call('GET', '/readyz'))
  await pollUntil('the metrics know the ledger again', async () =>
    /^pohf_ledger_drift 0$/m.test((await server.callOperator('GET', '/metrics')).text),
  )
})

test('a mint that commits after its deadline is refused as 503, and a repeat returns it without a second debit', async (t) => {
  await works('the pool is filled')
  const before = await countDebits()
  const limits = holdLimits(t, deadlineMs)
  await shop.query('begin; lock table credentials in share mode')
  const refused = verify('late')
  await pollUntil('the mint waits for the lock', async () => {
    const { rows } = await owner.query(
      "select from pg_stat_activity where datname = 'shop' and wait_event_type = 'Lock'",
    )
    return rows.length > 0
  })
  const waiting = limits.running()
  proxy.strand()
  limits.runOut(waiting)
  assertUnavailable(await endsByItself('the call', refused))
  await shop.query('commit')
  const stored = await pollUntil('no cancel request was sent, so the statement commits', async () => {
    const { rows } = await shop.query("select credential_id from credential_claims where reference = 'late'")
    return rows[0] as { credential_id: string } | undefined
  })
  limits.stop()
  proxy.cut()
  const repeated = await pollUntil('the repeat is answered', async () => {
    const answer = await verify('late')
    return answer.status === 200 && answer
  })
  assert.equal(repeated.json.credentialId, stored.credential_id)
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
  await cutConnections()
  try {
    assertUnavailable(await verify())
    assert.match(harness.lines.join(''), /"code":"53300"/)
  } finally {
    await owner.query('alter database shop connection limit -1')
  }
  await works('verify works again')
})

/** A check that has passed is reused for a second. */
const reusedMs = 1_001

test('a slow path is slow and nothing else: the process stays ready', async (t) => {
  await works('the pool is filled')
  moveProcessTime(t)(reusedMs)
  // 200 ms for a round trip, of the 2 s in which a check must pass: a busy machine needs some of them.
  proxy.delay(100)
  try {
    await cutConnections()
    assert.deepEqual(await readiness(), [200, 'ready\n'])
    assert.equal((await harness.call('GET', '/api/agents/credits/balance', { key })).status, 200)
  } finally {
    proxy.heal()
  }
})

test('many calls of /readyz at once share one check', async (t) => {
  await works('the pool is filled')
  // On a busy machine so many calls take longer than a check is reused.
  let now = performance.now()
  t.mock.method(performance, 'now', () => now)
  const counts: number[] = []
  for (let round = 0; round < 5; round++) {
    now += reusedMs
    const before = harness.ctx.db.statements()
    const all = await Promise.all(Array.from({ length: 200 }, () => harness.call('GET', '/readyz')))
    for (const answer of all) assert.equal(answer.status, 200)
    counts.push(harness.ctx.db.statements() - before)
  }
  // Each second the request log is written, and every five the process asks whether the database is from the past.
  assert.equal(Math.min(...counts), 1, `${counts.join(', ')} statements`)
  assert.ok(Math.max(...counts) < 20, `${counts.join(', ')} statements`)
})
