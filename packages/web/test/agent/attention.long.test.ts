import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { seedViews } from '../../../../tools/demo/view-rows.ts'
import { tabTo, waitForText } from '../browser-test.ts'
import { lookInEveryView } from '../browser.ts'
import { firstView } from '../views.ts'
import { createPageTest, type OpenedAgent } from './agent-fixture.ts'

const onPage = await createPageTest()

/** Views of the last 30 days, with visits and conversions after them. */
const seedPage = ({ service, agent }: Pick<OpenedAgent, 'service' | 'agent'>, rows: number) =>
  seedViews(service.harness, {
    agentId: agent.agentId,
    mode: 'test',
    rows,
    // A view of the first minutes of the 30 days that the page shows would leave them before the page asks.
    days: 29,
    seed: 5,
    onProgress: () => undefined,
  })

/** The figures above the plots, the histogram and the series are of the same views. */
const assertSumsAgree = async (page: Page, views: number): Promise<void> => {
  const readNumber = async (selector: string) =>
    Number((await page.textContent(selector))?.replace(/[^0-9]/g, ''))
  const sumOf = async (label: string, column: number) => {
    const cells = page.locator(`[aria-label="${label}"] tbody td:nth-child(${column})`)
    const texts = await cells.allTextContents()
    assert.ok(texts.length > 0, label)
    return texts.reduce((sum, text) => sum + Number(text.replace(/[^0-9]/g, '')), 0)
  }
  const scored = await readNumber('.stats .small >> nth=0')
  assert.ok(scored > 0 && scored < views, String(scored))
  assert.equal(await sumOf('Views by quality', 2), scored)
  assert.equal(await sumOf('Quality over time', 3), views)
  const verified = await sumOf('Quality over time', 4)
  assert.equal(verified + (await sumOf('Quality over time', 5)), scored)
  const [, shown] = /^([\d,]+) of/.exec((await page.textContent('.stats .small >> nth=1')) ?? '') ?? []
  assert.equal(Number(shown?.replaceAll(',', '')), verified)
}

onPage(
  'attention shows quality, hours, flags and the check, and its filters are in the address',
  async (opened) => {
    const { page, service, agent, open } = opened
    await open('#/attention')
    await waitForText(page, 'Get your first view')
    await waitForText(page, 'Show the last 90 days')
    await lookInEveryView(page, 'attention-empty')
    await service.harness.call('PATCH', '/api/agents/me', {
      key: agent.apiKey,
      body: { allowedOrigins: ['https://shop.example', 'https://blog.example'] },
    })
    await seedPage(opened, 600)
    await open('#/attention')
    await waitForText(page, /\d+(\.\d)?% of the scored views were verified/)
    for (const text of [
      'Quality over time',
      'When verified people come',
      'Checks left before their end',
      '/shoes',
    ])
      await waitForText(page, text)
    assert.equal(await page.locator('.heat rect').count(), 7 * 24)
    await assertSumsAgree(page, 600)
    await lookInEveryView(page, 'attention')
    // Every plot has its figures as a table, reached by keyboard.
    assert.equal(await page.locator('.astable').count(), 4)
    await page.focus('.astable summary >> nth=3')
    await page.keyboard.press('Enter')
    assert.equal(await page.locator('.astable[open] tbody tr').count(), 24)
    const views = () => page.textContent('.stats dd >> nth=0')
    const all = Number(await views())
    assert.equal(all, 600)
    // Suggested, and taken from an address that somebody pastes.
    assert.equal(await page.locator('#known-sites option').count(), 2)
    await page.fill('#filter-site', 'https://Blog.example/post')
    await page.press('#filter-site', 'Enter')
    await page.locator('.stats dd >> nth=0', { hasNotText: /^600$/ }).waitFor()
    assert.match(page.url(), /#\/attention\?site=blog\.example$/)
    assert.ok(Number(await views()) < 300)
    await page.fill('#filter-workflow', 'checkout')
    await page.press('#filter-workflow', 'Enter')
    await page.waitForURL(/site=blog\.example&workflow=checkout$/)
    await page.selectOption('#filter-period', '24h')
    await page.waitForURL(/period=24h&site=blog\.example&workflow=checkout$/)
    await page.fill('#filter-workflow', 'no-such-workflow')
    await page.press('#filter-workflow', 'Enter')
    await waitForText(page, 'No view matches')
    await lookInEveryView(page, 'attention-narrowed')
  },
  firstView,
)

onPage(
  'attention with one view, in a short period and with long names: every state can be read',
  async (opened) => {
    const { page, service, agent, open } = opened
    await page.clock.install()
    const { json } = await service.harness.call('POST', '/api/agents/verify', {
      key: agent.apiKey,
      body: { sessionId: 'one' },
    })
    const path = `/${'long-segment-'.repeat(30)}`
    await service.harness.call('POST', '/api/track/event', { body: { vt: json.vt, type: 'landed', path } })
    await open('#/attention?period=1h')
    await waitForText(page, '100% of the scored views were verified')
    await waitForText(page, 'The average of each hour in UTC')
    // A value without a neighbour is a dot: a line through one point cannot be seen.
    assert.equal(await page.locator('#over-time ~ .with-axis circle').count(), 1)
    await waitForText(page, '1 scored view by quality')
    const pathHeight = await page.evaluate<number>('document.querySelector(".pages-table code").clientHeight')
    assert.ok(pathHeight > 0 && pathHeight < 90, `${pathHeight} px: at most three lines`)
    await lookInEveryView(page, 'attention-one-view')
    await service.harness.call('POST', '/api/agents/verify', {
      key: agent.apiKey,
      body: { sessionId: 'two' },
    })
    // A minute later the period has moved on: one answer is enough to show it.
    let calls = 0
    await page.route('**/metrics/attention?*', (route) => (++calls > 1 ? undefined : route.continue()))
    await page.clock.fastForward(61_000)
    await waitForText(page, '2 scored views by quality')
    await page.unroute('**/metrics/attention?*')
    const site = `${'a-long-label-of-a-host.'.repeat(9)}example`
    await open(`#/attention?site=${site}`)
    await waitForText(page, 'No view matches')
    assert.equal(await page.inputValue('#filter-site'), site)
    await lookInEveryView(page, 'attention-long-site')
    await tabTo(page, 'filter-workflow INPUT')
    await page.keyboard.type('checkout')
    await tabTo(page, 'Filter')
    await page.keyboard.press('Enter')
    await page.waitForURL(/site=a-long.*&workflow=checkout$/)
  },
  firstView,
)

onPage(
  'the funnel shows where views are lost and what they are worth, and downloads the views',
  async (opened) => {
    const { page, service, agent, open } = opened
    await service.harness.call('POST', '/api/agents/verify', {
      key: agent.apiKey,
      body: { sessionId: '=HYPERLINK("https://x.example")' },
    })
    await open('#/funnel')
    await waitForText(page, 'Nobody landed')
    await waitForText(page, '/visit.js')
    await lookInEveryView(page, 'funnel-no-visits')
    await seedPage(opened, 300)
    await open('#/funnel')
    await waitForText(page, /\d+(\.\d)?% of verified views converted/)
    await waitForText(page, /EUR\s[\d,.]+ and CHF\s[\d,.]+ came from verified views/)
    assert.equal(await page.locator('.funnel-steps li').count(), 4)
    await lookInEveryView(page, 'funnel')
    const [file] = await Promise.all([page.waitForEvent('download'), page.click('text=Download views.csv')])
    const lines = readFileSync(await file.path(), 'utf8')
      .trim()
      .split('\n')
    assert.match(lines[0] ?? '', /^sessionId,credentialId,/)
    assert.equal(lines.length, 302)
    assert.equal(lines.filter((line) => line.includes(`"'=HYPERLINK(""https://x.example"")"`)).length, 1)
    assert.ok(!lines.some((line) => /^"?[=+@-]/.test(line)), 'no cell begins a formula')
    await page.locator('text=views.csv is downloaded.').waitFor()
  },
  firstView,
)
