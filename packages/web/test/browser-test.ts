import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import type { Harness } from '../../server/test/fixtures/harness.ts'
import { findChromium, launch } from './browser.ts'
import { startService, type Service } from './service.ts'
import type { View } from './views.ts'

export type TestPage = { readonly page: Page; readonly service: Service }

/** Browser tests on the whole service: left out, and saying so, where there is no browser. */
export const createBrowserTest = async (start?: () => Promise<Harness>) => {
  const chromium = findChromium()
  const service = 'path' in chromium ? await startService(start) : undefined
  const browser = 'path' in chromium ? await launch(chromium.path) : undefined
  after(() => browser?.close())
  return (name: string, body: (opened: TestPage) => Promise<void>, view: Partial<View> = {}): void =>
    void test(name, { skip: 'missing' in chromium ? chromium.missing : false }, async () => {
      assert.ok(browser && service)
      service.behaviour.api = 'good'
      const { width = 1280, colorScheme = 'light' } = view
      const session = await browser.newContext({
        viewport: { width, height: 900 },
        colorScheme,
        reducedMotion: 'reduce',
        acceptDownloads: true,
      })
      const page = await session.newPage()
      const faults: string[] = []
      page.on('pageerror', (error) => faults.push(error.message))
      page.on('console', (message) => {
        const text = message.text()
        if (
          message.type() === 'error' &&
          !/status of 4\d\d|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET/.test(text)
        )
          faults.push(text)
      })
      try {
        await body({ page, service })
        assert.deepEqual(faults, [], 'the page ran without a fault and within its policy')
      } finally {
        await session.close()
      }
    })
}

/** Shows the field for a key, which is folded below the sign-in by mail in the console of agents. */
export const openKeyForm = async (page: Page): Promise<void> => {
  await page.waitForSelector('#key', { state: 'attached' })
  if (!(await page.isVisible('#key'))) await page.click('text=Sign in with an API key')
}
export const signIn = async (page: Page, key: string): Promise<void> => {
  await openKeyForm(page)
  await page.fill('#key', key)
  await page.press('#key', 'Enter')
  await page.waitForSelector('.app main h1')
}
export const waitForText = (page: Page, text: string | RegExp) =>
  page.locator('main', { hasText: text }).waitFor()

/** Presses Tab until an element with this text has the focus. */
export const tabTo = async (page: Page, wanted: string, most = 60): Promise<void> => {
  for (let step = 0; step < most; step++) {
    const focused = await page.evaluate<string>(
      // The page itself may have the focus, and holds every text.
      'document.activeElement.matches("a, button, input, summary, select, textarea, pre") ? `${document.activeElement.id} ${document.activeElement.tagName} ${document.activeElement.textContent}` : ""',
    )
    if (focused.includes(wanted)) return
    await page.keyboard.press('Tab')
  }
  assert.fail(`${wanted} is not reached by Tab`)
}
