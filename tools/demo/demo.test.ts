import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { prepareDemoFolder } from '../../packages/server/dev/demo.ts'
import type { Config } from '../../packages/server/src/platform/ops/config.ts'
import { startCardHarness } from '../../packages/server/test/fixtures/payments/card.ts'
import { ledgerFaults } from '../../packages/server/test/fixtures/payments/ledger.ts'
import { findChromium, launch } from '../../packages/web/test/browser.ts'
import { makeRandom } from './random.ts'
import { makeSession } from './rows.ts'
import { dayMs } from './rhythm.ts'
import { seedDemo } from './seed.ts'
import { capture, views, watchErrors } from './views.ts'

const size = { days: 40, visitsPerDay: 3, members: 2, requestsPerDay: 20 }

test('demo data agrees with the ledger, the card payments and the audit log, and every list has entries', async () => {
  const card = await startCardHarness({ PAYOUT_APPROVAL: 'on' })
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
  for (const list of [
    'credentials',
    'sessions',
    'requests',
    'orders',
    'members',
    'keys',
    'webhooks',
    'campaigns',
  ])
    await read(`/api/agents/${list}`, list)
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
    'postgres://pohf@db.example:5432/pohf_demo',
    'postgres://postgres@127.0.0.1:1/pohf_demo?host=db.example',
  ]) {
    const env = { ...process.env, DATABASE_URL: url, STRIPE_API_BASE: 'http://127.0.0.1:1' }
    const { status, stderr } = spawnSync(process.execPath, [main], { env, encoding: 'utf8' })
    assert.equal(status, 1)
    assert.match(stderr, /demo data is written into pohf_demo on 127\.0\.0\.1 only/)
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
    assert.match(run([]).stderr, /start it first, and keep it running: npm run dev/)
    for (const rows of ['0', '1.5', 'many', '50000001'])
      assert.match(run(['--rows', rows]).stderr, /--rows must be a whole number from 1 to 50000000/)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('a folder that holds something else is not emptied for demo data', () => {
  const folder = mkdtempSync(join(tmpdir(), 'pohf-demo-folder-'))
  try {
    const config = { DATA_DIR: folder, BASE_URL: 'http://localhost:3000' } as Config
    assert.equal(prepareDemoFolder(config), true)
    assert.equal(prepareDemoFolder(config), true, 'an interrupted start is made anew')
    rmSync(join(folder, 'demo.txt'))
    writeFileSync(join(folder, 'master.key'), 'secret')
    assert.throws(() => prepareDemoFolder(config), /holds something else than demo data/)
    assert.equal(readFileSync(join(folder, 'master.key'), 'utf8'), 'secret')
  } finally {
    rmSync(folder, { recursive: true })
  }
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
