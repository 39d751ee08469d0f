import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { pollUntil } from '../../server/test/fixtures/polling.ts'
import { builtPages } from '../../server/test/fixtures/processes/built-pages.ts'
import { findChromium, launch } from '../../web/test/browser.ts'
import { views } from '../../web/test/views.ts'
import { checkPage } from '../../tag/test/page-checks.ts'
import {
  actAsPerson,
  answerUntil,
  personsBrowser,
  startFixture,
  sessionOf,
  trackSession,
} from '../../tag/test/fixture.ts'
import { startSite } from '../src/site.ts'

const chromium = findChromium()
const skip = 'missing' in chromium ? chromium.missing : false
const open = async () => {
  const folder = await builtPages('demo')
  const fixture = await startFixture()
  const { agentId, apiKey } = await fixture.harness.register('test')
  const site = await startSite({ pohf: fixture.service.url, site: agentId, apiKey, port: 0, folder })
  return { fixture, site, apiKey }
}
const sample = 'path' in chromium ? await open() : undefined
const browser = 'path' in chromium ? await launch(chromium.path) : undefined
after(async () => {
  await browser?.close()
  await sample?.site.stop()
  sample?.fixture.close()
})

const visit = async (
  body: (page: Page, given: NonNullable<typeof sample>) => Promise<void>,
): Promise<void> => {
  assert.ok(sample && browser)
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...personsBrowser })
  await actAsPerson(context)
  const page = await context.newPage()
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error' && !/favicon|status of 404/.test(message.text()))
      faults.push(message.text())
  })
  trackSession(page)
  try {
    await page.goto(sample.site.url)
    await body(page, sample)
    assert.deepEqual(faults, [])
  } finally {
    await context.close()
  }
}
const checkViews = async (page: Page, name: string) => {
  for (const { width, colorScheme } of views) {
    await page.setViewportSize({ width, height: 900 })
    await page.emulateMedia({ colorScheme })
    await checkPage(page, `demo-${name}-${width}-${colorScheme}`)
  }
}

/** Plays the session, by pointer and by keyboard, with motion and without. Gives the slider of its time. */
const playReplay = async (page: Page): Promise<Locator> => {
  const slider = page.getByRole('slider', { name: 'Time in the session' })
  await slider.fill('1000')
  assert.match((await slider.getAttribute('aria-valuetext')) ?? '', /^1\.0 of/)
  // So slowly that a busy machine presses Pause long before the end.
  const speed = page.getByRole('combobox', { name: 'Speed' })
  await speed.selectOption('0.5')
  await page.getByRole('button', { name: 'Play' }).click()
  await pollUntil('time goes on', async () => Number(await slider.inputValue()) > 1_000)
  await page.getByRole('button', { name: 'Pause' }).click()
  // By keyboard alone: time by arrows, play and hold by Space.
  await slider.fill('2000')
  await slider.focus()
  await page.keyboard.press('ArrowRight')
  assert.equal(await slider.inputValue(), '2050')
  await page.keyboard.press('Space')
  await page.getByRole('button', { name: 'Pause' }).waitFor()
  await page.keyboard.press('Space')
  await page.getByRole('button', { name: 'Play' }).waitFor()
  // Who wants no motion sees whole seconds.
  await page.emulateMedia({ reducedMotion: 'reduce' })
  await slider.fill('0')
  await page.getByRole('button', { name: 'Play' }).click()
  await page.getByText(/^[1-9]\.0 \/ /).waitFor()
  await page.getByRole('button', { name: 'Pause' }).click()
  assert.equal(Number(await slider.inputValue()) % 1_000, 0)
  await page.emulateMedia({ reducedMotion: 'no-preference' })
  await speed.selectOption('4')
  await page.getByRole('button', { name: 'Play' }).click()
  await page.getByText(/^(\d+\.\d) \/ \1 s$/).waitFor()
  return slider
}

test(
  'a comment with the check: one call, a truthful outcome, and a recorded session that its person can see and audit',
  { skip },
  () =>
    visit(async (page, { fixture, apiKey }) => {
      await checkViews(page, 'form')
      await page.fill('#text', 'Six in the morning, at last.')
      await page.click('pohf-check .go')
      // So slowly that the recording has seconds to look at.
      await answerUntil(page, fixture, 'passed', { reactionMs: 1_500 })
      await page.getByRole('button', { name: 'Send the comment' }).click()
      await page.waitForSelector('pre')
      const sessionId = sessionOf(page)
      const told = await fixture.harness.call('POST', '/api/agents/verify', {
        key: apiKey,
        body: { sessionId },
      })
      const chip = await page.textContent('main > p:not(.brand) > .chip')
      // Whatever the service says of the session, the page says the same.
      const unscored = told.json.error === 'session_not_ready'
      const expected = told.status === 200 ? 'Person' : unscored ? 'Recorded, not scored' : 'Not accepted'
      assert.equal(chip, expected)
      assert.match((await page.textContent('pre')) ?? '', new RegExp(sessionId))
      await checkViews(page, 'outcome')

      await page.getByRole('link', { name: 'See your own session' }).click()
      await page.getByRole('heading', { name: /Your session: \d+ seconds, \d questions/ }).waitFor()
      assert.ok((await page.locator('tbody tr:has-text("right")').count()) >= 2)
      const slider = await playReplay(page)
      await page.getByRole('button', { name: 'Open chunk 2' }).click()
      await page.getByText('It stands at this place under the committed root.').waitFor()
      await slider.fill('6000')
      await checkViews(page, 'session')
      await page.getByRole('button', { name: 'Change one letter and check again' }).click()
      await page.getByText('This record is not at this place').waitFor()
      await checkViews(page, 'tampered')
    }),
)

test(
  'a comment without the check waits for a look; a form cannot be sent twice with one challenge',
  { skip },
  () =>
    visit(async (page, { site }) => {
      const challenge = (await page.getAttribute('pohf-check', 'challenge')) ?? ''
      await page.fill('#text', 'No check.')
      await page.getByRole('button', { name: 'Send the comment' }).click()
      await page.getByText('It came without the check').waitFor()
      assert.equal(await page.getByRole('link', { name: 'See your own session' }).isVisible(), false)
      const again = await fetch(`${site.url}/comment`, {
        method: 'POST',
        body: new URLSearchParams({ challenge, 'pohf-session': 'ses_x' }),
        redirect: 'manual',
      })
      assert.equal(again.status, 303)
    }),
)

test('a session that is not there is told in plain words', { skip }, () =>
  visit(async (page, { site }) => {
    await page.goto(`${site.url}/session?id=ses_nobody`)
    await page.getByRole('heading', { name: 'This session cannot be shown.' }).waitFor()
    await checkViews(page, 'missing')
  }),
)
