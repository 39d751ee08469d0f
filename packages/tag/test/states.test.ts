import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { findChromium, launch } from '../../web/test/browser.ts'
import { checkPage } from './page-checks.ts'
import { answerAll, startFixture, trackSession } from './fixture.ts'

const chromium = findChromium()
const skip = 'missing' in chromium ? chromium.missing : false
const stage = 'path' in chromium ? await startFixture() : undefined
const browser = 'path' in chromium ? await launch(chromium.path) : undefined
after(async () => {
  await browser?.close()
  stage?.close()
})

void describe('every state, looked at', { concurrency: 2 }, () => {
  for (const width of [320, 1280])
    for (const colorScheme of ['light', 'dark'] as const)
      void test(`${width} px, ${colorScheme}`, { skip }, async () => {
        assert.ok(browser && stage)
        const { agentId } = await stage.harness.register('test')
        const site = await stage.open(
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
        const look = (state: string) => checkPage(page, `${state}-${width}-${colorScheme}`)
        const box = '.box button'
        try {
          await page.goto(site.url)
          await page.locator('pohf-check .box button').waitFor()
          await look('idle')
          await page.click(box)
          await look('ask')
          await page.evaluate(
            "Object.defineProperty(navigator, 'globalPrivacyControl', { value: true, configurable: true })",
          )
          await page.getByRole('button', { name: 'Not now' }).click()
          await page.click(box)
          await look('ask-private')
          await page.getByRole('button', { name: 'I agree, start' }).click()
          await page.locator('dialog.wait').waitFor()
          await look('wait')
          await page.locator('dialog.point .bar.runs').waitFor({ timeout: 20_000 })
          await look('point')
          await page.getByRole('button', { name: 'I do not use a pointer' }).click()
          await page.locator('dialog.choose .choices').waitFor({ timeout: 20_000 })
          await look('choose')
          stage.line.cut.add(site.url)
          await page.locator('dialog.stuck').waitFor({ timeout: 30_000 })
          await look('stuck')
          await page.getByRole('button', { name: 'Go on without the check' }).click()
          await look('failed')
          stage.line.cut.delete(site.url)
          await context.setOffline(true)
          await page.click(box)
          await page.locator('.box.offline').waitFor()
          await look('offline')
          await context.setOffline(false)
          await page.locator('.box.idle').waitFor()
          await page.click(box)
          await page.locator('dialog .btn.main').click()
          await answerAll(page, stage)
          await page.locator('.box.done').waitFor()
          await sleep(100)
          await look('done')
        } finally {
          await context.close()
          site.close()
        }
      })
})
