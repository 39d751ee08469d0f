import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { freePort } from '../../server/dev/cluster.ts'
import { startHarness, type Harness } from '../../server/test/fixtures/harness.ts'
import {
  insertBuyers,
  insertSettledUnits,
  makeSettledUnits,
} from '../../server/test/fixtures/payments/settled-work.ts'
import { findChromium, launch, lookInEveryView } from './browser.ts'

const chromium = findChromium()
const skip = 'missing' in chromium ? chromium.missing : false
const months = 12
/** A month with too few buyers, so that the chart has a gap. */
const thinMonth = 7

/** A year of settled work, closed month by month. */
const seedYear = async (harness: Harness): Promise<void> => {
  const buyers = await insertBuyers(harness.owner, 16)
  for (let n = 0; n < months; n++) {
    const now = harness.ctx.clock.now()
    const from = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth()))
    const units = makeSettledUnits(
      {
        buyers: n === thinMonth ? buyers.slice(0, 5) : buyers,
        workers: 40,
        unitsPerBuyer: 50 + n * 2,
        from,
        usdPerHour: 16 + n * 0.35,
      },
      n + 1,
    )
    await insertSettledUnits(harness.owner, units)
    const closedAt = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1) + 25 * 3_600_000
    await harness.advance(closedAt - now.getTime())
    await harness.runJobs()
  }
}

const start = async () => {
  const port = await freePort()
  const harness = await startHarness({ PORT: String(port), DEMO_DATA: 'true' })
  await harness.app.api.listen({ host: '127.0.0.1', port })
  return { harness, url: `http://127.0.0.1:${port}` }
}
const service = 'path' in chromium ? await start() : undefined
const browser = 'path' in chromium ? await launch(chromium.path) : undefined
after(() => browser?.close())

const open = (name: string, body: (page: Page, url: string) => Promise<void>): void =>
  void test(name, { skip }, async () => {
    assert.ok(browser && service)
    const context = await browser.newContext({
      viewport: { width: 1280, height: 900 },
      reducedMotion: 'reduce',
    })
    const page = await context.newPage()
    const faults: string[] = []
    page.on('pageerror', (error) => faults.push(error.message))
    page.on('console', (message) => {
      if (message.type() === 'error') faults.push(message.text())
    })
    try {
      await body(page, service.url)
      assert.deepEqual(faults, [], 'no fault, and nothing that the policy forbids')
    } finally {
      await context.close()
    }
  })

const verify = async (page: Page): Promise<string[]> => {
  await page.click('#verify-epoch')
  await page.waitForSelector('#verify-result li')
  return page.$$eval('#verify-result li', (items) => items.map((item) => item.textContent ?? ''))
}

open('without settled work the page shows no value, and the signature still verifies', async (page, url) => {
  await page.goto(`${url}/vhh`)
  assert.match(await page.innerText('main'), /No value/)
  assert.match(await page.innerText('main'), /No month has a value yet/)
  const findings = await verify(page)
  assert.equal(findings.length, 2)
  for (const finding of findings) assert.match(finding, /^✓/)
  await lookInEveryView(page, 'vhh-empty')
})

open(
  'a year of months is shown as a chart and as a table, marked as generated, in every view',
  async (page, url) => {
    assert.ok(service)
    await seedYear(service.harness)
    await page.goto(`${url}/vhh`)
    assert.match(await page.innerText('main'), /Generated data/)
    assert.equal(await page.locator('svg.plot circle').count(), months - 1)
    await lookInEveryView(page, 'vhh')
    await page.click('main summary')
    assert.equal(await page.locator('tbody tr').count(), months + 1)
    await lookInEveryView(page, 'vhh-table')
  },
)

open('the browser computes the signed value again from the published inputs', async (page, url) => {
  await page.goto(`${url}/vhh`)
  const findings = await verify(page)
  assert.equal(findings.length, 3)
  for (const finding of findings) assert.match(finding, /^✓/)
  const shown = await page.innerText('.figure')
  assert.ok(findings.at(-1)?.includes(`Computed here: ${shown}. Signed: ${shown}.`), findings.at(-1))
  await lookInEveryView(page, 'vhh-verified')
})

open('a changed input is found', async (page, url) => {
  await page.route('**/api/index/vhh/inputs*', async (route) => {
    const answer = await route.fetch()
    const body = (await answer.json()) as { inputs: { rows: { usdMicro: number }[] } }
    for (const row of body.inputs.rows) row.usdMicro *= 3
    await route.fulfill({ response: answer, json: body })
  })
  await page.goto(`${url}/vhh`)
  const findings = await verify(page)
  assert.match(findings[0] ?? '', /^✓/)
  assert.match(findings[1] ?? '', /^✕Not true/)
  assert.match(findings[2] ?? '', /^✕Not true/)
})
