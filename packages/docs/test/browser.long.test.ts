import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { listenDocs } from '../../server/test/docs/docs-listener.ts'
import { builtPages } from '../../server/test/fixtures/processes/built-pages.ts'
import { tabTo } from '../../web/test/browser-test.ts'
import { findChromium, launch, lookInEveryView } from '../../web/test/browser.ts'

const chromium = findChromium()
const skip = 'missing' in chromium ? chromium.missing : false
const url = skip === false ? await listenDocs(await builtPages('docs')) : ''
const browser = 'path' in chromium ? await launch(chromium.path) : undefined
after(() => browser?.close())

/** Opens a page of the documentation. Fails where it logs an error, breaks its policy or calls another host. */
const testPage = (name: string, path: string, body: (page: Page) => Promise<void>, width = 1280): void =>
  void test(name, { skip }, async () => {
    assert.ok(browser)
    const context = await browser.newContext({
      viewport: { width, height: 900 },
      reducedMotion: 'reduce',
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    const page = await context.newPage()
    const faults: string[] = []
    page.on('pageerror', (error) => faults.push(error.message))
    page.on('console', (message) => {
      // The service has the picture of the tab, not the documentation.
      if (message.type() === 'error' && !message.location().url.endsWith('/favicon.ico'))
        faults.push(message.text())
    })
    page.on('request', (request) => request.url().startsWith(`${url}/`) || faults.push(request.url()))
    try {
      await page.goto(`${url}${path}`)
      await body(page)
      assert.deepEqual(faults, [])
    } finally {
      await context.close()
    }
  })

/** Every report has its date before its name: an older one may be removed when a newer is written. */
const newestReport = readdirSync(fileURLToPath(new URL('../../../docs/reports', import.meta.url)))
  .filter((name) => name.endsWith('-restore.md'))
  .toSorted()
  .at(-1)
  ?.replace(/\.md$/, '')

const openSearch = async (page: Page, words: string): Promise<void> => {
  await page.keyboard.press('/')
  await page.waitForSelector('dialog[open]')
  await page.keyboard.type(words)
  await page.waitForSelector('#search-results a')
}

for (const [name, path] of [
  ['home', '/docs'],
  ['guide', '/docs/guides/verify'],
  ['api', '/docs/reference/api/credentials'],
  ['api-list', '/docs/reference/api'],
  ['error', '/docs/errors/session_rejected'],
  ['quickstart', '/docs/quickstart/site-owner'],
  ['report', `/docs/reports/${newestReport}`],
] as const)
  testPage(`${path} is accessible, fits every width and calls no other host`, path, (page) =>
    lookInEveryView(page, `docs-${name}`),
  )

testPage('the search finds a word, without another host', '/docs', async (page) => {
  await openSearch(page, 'siteverify')
  assert.match((await page.locator('#search-results a').first().textContent()) ?? '', /siteverify/)
  await lookInEveryView(page, 'docs-search')
  await page.fill('#search-text', 'zzzzqqqq')
  await page.getByText('Nothing found.').waitFor()
})

testPage('the keyboard alone searches, opens a result and comes back', '/docs/guides/check', async (page) => {
  await tabTo(page, 'search-open')
  await page.keyboard.press('Enter')
  await page.waitForSelector('dialog[open]')
  await page.keyboard.type('status lists')
  await page.waitForSelector('#search-results a')
  await page.keyboard.press('ArrowDown')
  assert.equal(await page.evaluate('document.activeElement.tagName'), 'A')
  await page.keyboard.press('ArrowUp')
  await Promise.all([page.waitForURL(/status-lists/), page.keyboard.press('Enter')])
  assert.match((await page.locator('h1').textContent()) ?? '', /^Status lists/)
  await page.goto(`${url}/docs/guides/check`)
  await page.keyboard.press('Tab')
  assert.equal(await page.evaluate('document.activeElement.className'), 'skip')
  await page.keyboard.press('Enter')
  await page.locator('#content:focus').waitFor()
})

testPage('Escape closes the search and the focus goes back', '/docs', async (page) => {
  await tabTo(page, 'search-open')
  await page.keyboard.press('Enter')
  await page.waitForSelector('dialog[open]')
  await page.keyboard.press('Escape')
  await page.locator('#search-open:focus').waitFor()
})

testPage('a block of code is copied by its button', '/docs/guides/verify', async (page) => {
  await page.locator('.copy').first().click()
  await page.getByRole('button', { name: 'Copied' }).waitFor()
  const [copied, shown] = [
    await page.evaluate<string>('navigator.clipboard.readText()'),
    await page.locator('.code code').first().textContent(),
  ]
  assert.ok(copied.length > 20)
  assert.equal(copied, shown)
})

testPage(
  'on a phone the menu is folded and opens',
  '/docs/guides/verify',
  async (page) => {
    const link = page.getByRole('link', { name: 'Glossary' })
    assert.equal(await link.isVisible(), false)
    await page.getByText('Menu', { exact: true }).click()
    await page.getByText('Start', { exact: true }).click()
    await link.click()
    await page.waitForURL(/glossary/)
  },
  390,
)

test('without scripts a page is whole', { skip }, async () => {
  const context = await browser?.newContext({
    javaScriptEnabled: false,
    viewport: { width: 1280, height: 900 },
  })
  const page = await context?.newPage()
  await page?.goto(`${url}/docs/guides/verify`)
  assert.equal(await page?.locator('h1').textContent(), 'Verify a credential')
  assert.equal(await page?.getByRole('link', { name: 'The check in a form', exact: true }).isVisible(), false)
  assert.ok(await page?.getByRole('link', { name: 'Bind a person to a payment' }).first().isVisible())
  await context?.close()
})
