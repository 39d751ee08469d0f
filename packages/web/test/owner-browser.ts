import assert from 'node:assert/strict'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { textOf, type startMailbox } from '../../server/test/fixtures/mailbox.ts'
import { firstView } from './views.ts'
import type { startWorkerFixture } from './worker-fixture.ts'

/** A browser with the page of the console. */
export type OpenedConsole = {
  readonly page: Page
  readonly context: BrowserContext
  readonly faults: string[]
}

type Parts = {
  readonly browser: Browser | undefined
  readonly service: Awaited<ReturnType<typeof startWorkerFixture>> | undefined
  readonly mailbox: Awaited<ReturnType<typeof startMailbox>> | undefined
}

export const ownerBrowser = ({ browser, service, mailbox }: Parts) => {
  const openPage = async (): Promise<OpenedConsole> => {
    assert.ok(browser && service)
    const context = await browser.newContext({
      viewport: { width: firstView.width, height: 900 },
      reducedMotion: 'reduce',
      acceptDownloads: true,
    })
    const page = await context.newPage()
    const faults: string[] = []
    page.on('pageerror', (error) => faults.push(error.message))
    await page.goto(`${service.url}/console`)
    await page.waitForSelector('#email')
    return { page, context, faults }
  }

  /** An owner of a new account, signed in by the mailed link in test mode. */
  const openAsOwner = async (email: string): Promise<OpenedConsole> => {
    assert.ok(service && mailbox)
    const opened = await openPage()
    const { page } = opened
    await page.fill('#account-name', 'Corner Gazette')
    await page.fill('#new-email', email)
    await page.click('text=Create an account')
    await page.locator('main', { hasText: 'Check your mail' }).waitFor()
    await service.harness.runJobs()
    const link = mailbox.mails
      .filter(({ to }) => to.includes(email))
      .map((mail) => /http\S+#\/link\?token=\S+/.exec(textOf(mail))?.[0])
      .findLast((found) => found !== undefined)
    assert.ok(link)
    await page.goto(link)
    await page.waitForSelector('.app main h1')
    return opened
  }
  return { openPage, openAsOwner }
}
