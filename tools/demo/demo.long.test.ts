import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { startCardHarness } from '../../packages/server/test/fixtures/payments/card.ts'
import { makeDatabase, openServer, startHarness } from '../../packages/server/test/fixtures/harness.ts'
import { ledgerFaults } from '../../packages/server/test/fixtures/payments/ledger.ts'
import { deviceScores } from '@pohf/scorer'
import { findChromium, launch } from '../../packages/web/test/browser.ts'
import { sharePastPartitions } from './past-partitions.ts'
import { makeRandom } from './random.ts'
import { makeSession } from './rows.ts'
import { dayMs } from './rhythm.ts'
import { seedDemo } from './seed.ts'
import { seedViews, timeBefore } from './view-rows.ts'
import { capture, views, watchErrors } from './views.ts'
import { playVisitors, visitorScores, type VisitorScore } from './visitors.ts'

const size = { days: 40, visitsPerDay: 3, members: 2, requestsPerDay: 20 }

test('demo data agrees with the ledger, the card payments and the audit log, and every list has entries', async () => {
  const card = await startCardHarness({ PAYOUT_APPROVAL: 'on', ORDER_REVIEWS: '0' })
  const { harness } = card
  await harness.advance(-size.days * dayMs)
  const { faults, live, operatorKeys, workerCookie } = await seedDemo(harness, size, async (sessionId) => {
    await card.pay(sessionId)
  })
  assert.deepEqual(faults, [])
  assert.deepEqual(await ledgerFaults(harness), [])
  const read = async (path: string, list: string) => {
    const { json, text } = await harness.call('GET', path, { key: live.apiKey })
    assert.ok(json[list]?.length > 0, `${path}: ${text.slice(0, 200)}`)
    return json[list]
  }
  for (const list of ['requests', 'keys']) await read(`/api/agents/${list}`, list)
  for (const [list, address] of [
    ['credentials', ({ credentialId }) => `credentials/${credentialId}`],
    ['sessions', ({ sessionId }) => `sessions/${sessionId}`],
    ['orders', ({ orderId }) => `orders/${orderId}`],
    ['members', ({ memberId }) => `members/${memberId}`],
    ['webhooks', ({ id }) => `webhooks/${id}/deliveries`],
    ['campaigns', ({ campaignId }) => `campaigns/${campaignId}`],
  ] as readonly (readonly [string, (entry: Record<string, string>) => string])[])
    for (const entry of await read(`/api/agents/${list}?limit=100`, list)) {
      const opened = await harness.call('GET', `/api/agents/${address(entry)}`, { key: live.apiKey })
      assert.equal(opened.status, 200, `${address(entry)}: ${opened.text.slice(0, 200)}`)
    }
  const { json: profile } = await harness.call('GET', '/api/agents/me', { key: live.apiKey })
  assert.match(profile.name, /^Demo /)
  for (const list of ['payouts', 'appeals', 'forwards']) {
    const { json } = await harness.callOperator('GET', `/operator/${list}`, { key: operatorKeys[0] })
    assert.ok(json[list].length > 0, list)
  }
  const { json: earnings } = await harness.call('GET', '/api/work/earnings', {
    headers: { cookie: workerCookie },
  })
  assert.ok(earnings.books.find(({ mode }: { mode: string }) => mode === 'live').measured.seconds > 60)
})

const withoutTimes = (scores: readonly VisitorScore[]) =>
  scores.map(({ counted: { probes, hits, strokes }, ...score }) => ({ ...score, probes, hits, strokes }))
test('the scores of the demo are those that its visitors get', async () => {
  const harness = await startHarness()
  const { agentId } = await harness.register('live')
  const played = await playVisitors(harness, agentId)
  assert.deepEqual(
    withoutTimes(played),
    withoutTimes(visitorScores),
    'the scores changed: npx node tools/demo/write-visitor-scores.ts writes them into visitor-scores.json',
  )
  assert.deepEqual(
    [...new Set(visitorScores.map(({ components }) => components.device))],
    [deviceScores.none],
  )
})

const makeSessions = (seed: number) => {
  const random = makeRandom(seed)
  return Array.from({ length: 50 }, (_, n) => makeSession(random, n * 1_000))
}
test('the same seed gives the same sessions', () => {
  assert.deepEqual(makeSessions(1), makeSessions(1))
  assert.notDeepEqual(makeSessions(1), makeSessions(2))
})

test('demo data is refused for a database that is not the demo database', () => {
  const main = fileURLToPath(new URL('main.ts', import.meta.url))
  for (const url of [
    'postgres://postgres@127.0.0.1:1/pohf_dev',
    'postgres://postgres@127.0.0.1:1/pohf_demo',
    'postgres://pohf@db.example:5432/pohf_demo_new',
    'postgres://postgres@127.0.0.1:1/pohf_demo_new?host=db.example',
  ]) {
    const env = { ...process.env, DATABASE_URL: url, STRIPE_API_BASE: 'http://127.0.0.1:1' }
    const { status, stderr } = spawnSync(process.execPath, [main], { env, encoding: 'utf8' })
    assert.equal(status, 1)
    assert.match(stderr, /demo data is written into pohf_demo_new on 127\.0\.0\.1 only/)
  }
})

test('demo views are refused for every database but that of npm run dev', () => {
  const main = fileURLToPath(new URL('seed-views.ts', import.meta.url))
  const folder = mkdtempSync(join(tmpdir(), 'pohf-seed-views-'))
  const run = (parameters: readonly string[], env: NodeJS.ProcessEnv = {}) =>
    spawnSync(process.execPath, [main, ...parameters], {
      env: { ...process.env, DATABASE_URL: '', DATA_DIR: folder, ...env },
      encoding: 'utf8',
    })
  try {
    const named = run([], { DATABASE_URL: 'postgres://pohf@127.0.0.1:5432/pohf' })
    assert.equal(named.status, 1)
    assert.match(named.stderr, /only into the database that npm run dev makes itself/)
    assert.match(run([]).stderr, /^seed-views: npm run dev does not run here\. Start it in another terminal/)
    for (const rows of ['0', '1.5', 'many', '1e5', '50000001'])
      assert.match(run(['--rows', rows]).stderr, /--rows must be a whole number from 1 to 50000000, not "/)
    for (const wrong of [['--rows', '-5'], ['--row', '5'], ['5']]) {
      const { status, stderr } = run(wrong)
      assert.equal(status, 1)
      assert.match(stderr, /^seed-views: .+\nUsage: npx node tools\/demo\/seed-views\.ts --rows 100000/)
      assert.doesNotMatch(stderr, /\n {4}at /, 'no stack trace')
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('demo views lie in the day before now, by the busy hours, however early in the day it is', () => {
  const random = makeRandom(3)
  const end = Date.parse('2026-11-18T02:00:00Z')
  const times = Array.from({ length: 5_000 }, () => timeBefore(random, end))
  assert.ok(times.every((at) => at < end && at >= end - dayMs))
  // One of 24 hours, and a quiet one: not all that the rest of the day would have had.
  assert.ok(times.filter((at) => at >= end - 3_600_000).length < 100)
})

test('an interrupted seed leaves whole batches of views, and a failed one none of its batch', async () => {
  const harness = await startHarness()
  const { agentId } = await harness.register('test')
  const options = { agentId, mode: 'test', days: 2, seed: 1 } as const
  const count = async (table: string) => {
    const { rows } = await harness.owner.query<{ rows: number }>(`select count(*)::int as rows from ${table}`)
    return rows[0]?.rows ?? 0
  }
  const interrupted = new AbortController()
  const done = await seedViews(harness, {
    ...options,
    rows: 6_000,
    onProgress: () => interrupted.abort(),
    signal: interrupted.signal,
  })
  assert.equal(done, 2_000)
  assert.equal(await count('sessions'), 2_000)
  const visits = await count('track_views')
  assert.ok(visits > 1_000, String(visits))
  const late = await harness.owner.query('select from track_events where at > now() limit 1')
  assert.equal(late.rowCount, 0, 'no beacon lies in the future')
  await harness.owner.query('alter table conversions rename column value to amount')
  await assert.rejects(
    seedViews(harness, { ...options, seed: 2, rows: 100, onProgress: () => undefined }),
    /column "value"/,
  )
  assert.equal(await count('sessions'), 2_000)
  assert.equal(await count('track_views'), visits)
})

test('days that are not kept share a partition until the clock is past them, whatever the jobs do', async (t) => {
  const days = 34
  const { url, drop } = await makeDatabase()
  const folder = mkdtempSync(join(tmpdir(), 'pohf-demo-past-'))
  const client = new Client({ connectionString: url })
  await client.connect()
  const followClock = await sharePastPartitions(client, days)
  const listPartitions = async () => {
    const { rows } = await client.query<{ name: string }>(
      "select inhrelid::regclass::text as name from pg_inherits where inhparent = 'request_log'::regclass",
    )
    return rows.map(({ name }) => name)
  }
  const before = await listPartitions()
  assert.ok(before.includes('request_log_past'))
  const server = await openServer({ url, environment: { DATA_DIR: folder }, skewMs: -days * dayMs })
  t.after(async () => {
    await server.close()
    await client.end()
    await drop()
    rmSync(folder, { recursive: true })
  })
  const { apiKey } = await server.register()
  const advance = async (ms: number) => {
    await server.advance(ms)
    await followClock(server.ctx.clock.now().getTime())
    assert.equal((await server.call('GET', '/api/agents/me', { key: apiKey })).status, 200)
    await server.runJobs()
  }
  await advance(dayMs)
  assert.deepEqual(await listPartitions(), before)
  await advance(3 * dayMs)
  const now = await listPartitions()
  assert.equal(now.length, before.length + 7, 'the day and the seven after it, and no longer the shared one')
  assert.ok(!now.includes('request_log_past'))
  await advance((days - 4) * dayMs)
})

const chromium = findChromium()
const skip = 'missing' in chromium ? chromium.missing : false
test('a screenshot is taken in every view; sideways scroll and errors are faults', { skip }, async () => {
  assert.ok('path' in chromium)
  const folder = mkdtempSync(join(tmpdir(), 'pohf-screenshots-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  const browser = await launch(chromium.path)
  after(() => browser.close())
  const page = await browser.newPage()
  const opened = { page, errors: watchErrors(page) }
  await page.setContent('<h1>Fits</h1>')
  assert.deepEqual((await capture(opened, 'fits', folder)).faults, [])
  assert.equal(readdirSync(folder).length, views.length)
  await page.setContent(
    '<h1>Wide</h1><div style="width: 800px">.</div><script>console.error("broken")</script>',
  )
  const { faults } = await capture(opened, 'wide', folder)
  assert.deepEqual(faults, [
    'wide-390-light.png: 808 px wide, scrolls sideways',
    'wide-390-dark.png: 808 px wide, scrolls sideways',
    'wide: broken',
  ])
})
