import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import { findChromium, launch } from './browser.ts'
import { startIssuerFixture } from './issuer-fixture.ts'
import type { View } from './views.ts'

type Fixture = Awaited<ReturnType<typeof startIssuerFixture>>
export type VerifyTestPage = { readonly page: Page; readonly faults: string[]; readonly fixture: Fixture }

/** Tests of /verify in a browser: left out, and saying so, where there is none. */
export const createVerifyTest = async () => {
  const chromium = findChromium()
  const fixture = 'path' in chromium ? await startIssuerFixture() : undefined
  const browser = 'path' in chromium ? await launch(chromium.path) : undefined
  after(async () => {
    await browser?.close()
    fixture?.close()
  })
  return (
    name: string,
    body: (opened: VerifyTestPage, context: TestContext) => Promise<void>,
    view: Partial<View> = {},
  ): void =>
    void test(name, { skip: 'missing' in chromium ? chromium.missing : false }, async (context) => {
      assert.ok(browser && fixture)
      fixture.behaviour.keys = 'good'
      fixture.behaviour.status = 'good'
      fixture.behaviour.forging = 'good'
      const { width = 1280, colorScheme = 'light' } = view
      const session = await browser.newContext({
        viewport: { width, height: 900 },
        colorScheme,
        reducedMotion: 'reduce',
      })
      const page = await session.newPage()
      const faults: string[] = []
      page.on('pageerror', (error) => faults.push(error.message))
      page.on('console', (message) => {
        if (message.type() === 'error' && !/status of 503/.test(message.text())) faults.push(message.text())
      })
      try {
        await page.goto(`${fixture.url}/verify`)
        await page.waitForSelector('h1')
        await body({ page, faults, fixture }, context)
        assert.deepEqual(faults, [], 'the page ran without a fault and within its policy')
      } finally {
        await session.close()
      }
    })
}

export const checkCredential = async (page: Page, jwt: string): Promise<void> => {
  await page.fill('#jwt', jwt)
  await page.click('main form:has(#jwt) button[type=submit]')
  await page.waitForSelector('.chips')
}
export const chipOf = (page: Page) => page.textContent('.chips .chip')
