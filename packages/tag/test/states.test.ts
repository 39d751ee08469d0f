import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { findChromium, launch } from '../../web/test/browser.ts'
import { views } from '../../web/test/views.ts'
import { checkPage } from './page-checks.ts'
import { answerAll, startFixture, trackSession } from './fixture.ts'

const chromium = findChromium()
const skip = 'missing' in chromium ? chromium.missing : false
const fixture = 'path' in chromium ? await startFixture() : undefined
const browser = 'path' in chromium ? await launch(chromium.path) : undefined
after(async () => {
  await browser?.close()
  fixture?.close()
})

const checkEveryState = async (width: number, colorScheme: 'light' | 'dark'): Promise<void> => {
  assert.ok(browser && fixture)
  const { agentId } = await fixture.harness.register('test')
  const site = await fixture.open(
    `<form method="post" action="/send"><pohf-check site="${agentId}"></pohf-check></form>`,
    'check',
  )
  const context = await browser.newContext({
    viewport: { width, height: 640 },
    colorScheme,
    reducedMotion: width === 320 ? 'reduce' : 'no-preference',
  })
  const page = await context.newPage()
  trackSession(page)
  const check = (state: string) => checkPage(page, `${state}-${width}-${colorScheme}`)
  const box = '.box button'
  try {
    await page.goto(site.url)
    await page.locator('pohf-check .box button').waitFor()
    await check('idle')
    await page.click(box)
    await check('ask')
    await page.evaluate(
      "Object.defineProperty(navigator, 'globalPrivacyControl', { value: true, configurable: true })",
    )
    await page.getByRole('button', { name: 'Not now' }).click()
    await page.click(box)
    await check('ask-private')
    await page.getByRole('button', { name: 'I agree, start' }).click()
    await page.locator('dialog.wait').waitFor()
    await check('wait')
    await page.locator('dialog.point .bar.runs').waitFor()
    await check('point')
    await page.getByRole('button', { name: 'I do not use a pointer' }).click()
    await page.locator('dialog.choose .choices').waitFor()
    await check('choose')
    fixture.network.cut.add(site.url)
    await page.locator('dialog.stuck').waitFor()
    await check('stuck')
    await page.getByRole('button', { name: 'Go on without the check' }).click()
    await check('failed')
    fixture.network.cut.delete(site.url)
    await context.setOffline(true)
    await page.click(box)
    await page.locator('.box.offline').waitFor()
    await check('offline')
    await context.setOffline(false)
    await page.locator('.box.idle').waitFor()
    await page.click(box)
    await page.locator('dialog .btn.main').click()
    await answerAll(page, fixture)
    await page.locator('.box.done').waitFor()
    await sleep(100)
    await check('done')
  } finally {
    await context.close()
    site.close()
  }
}

void describe('every state, looked at', { concurrency: 2 }, () => {
  for (const { width, colorScheme } of views)
    void test(`${width} px, ${colorScheme}`, { skip }, () => checkEveryState(width, colorScheme))
})
