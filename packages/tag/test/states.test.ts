import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { pollUntil } from '../../server/test/fixtures/polling.ts'
import { findChromium, launch } from '../../web/test/browser.ts'
import { isEveryView, views, type View } from '../../web/test/views.ts'
import { checkPage } from './page-checks.ts'
import { answerAll, inState, startFixture, trackSession } from './fixture.ts'

const chromium = findChromium()
const skip = 'missing' in chromium ? chromium.missing : false
const fixture = 'path' in chromium ? await startFixture() : undefined
const browser = 'path' in chromium ? await launch(chromium.path) : undefined
after(async () => {
  await browser?.close()
  fixture?.close()
})
const phones: readonly View[] = isEveryView
  ? [
      { width: 390, colorScheme: 'light' },
      { width: 390, colorScheme: 'dark' },
    ]
  : []

/**
 * Keeps the end of a question, whose time is 2.5 or 6 s: axe may need longer, and two that ran out end the check. Nor does the
 * check watch for silence, which ends a question after 10 s, while it hears nothing because it is looked at.
 */
const questionTimers = `const start = setTimeout
const repeat = setInterval
window.ended = []
window.isHeld = false
window.setInterval = (run, ms, ...values) => repeat(() => { if (!isHeld) run() }, ms, ...values)
window.setTimeout = (run, ms, ...values) =>
  start(ms > 2_500 && ms < 7_000 ? () => ended.push(run) : run, ms, ...values)`

const key = [{ kind: 'webauthn', url: 'https://pohf.example/step-up/token' }]
/** Verdicts that the service gives rarely, each with the state that shows it. */
const verdicts = [
  ['waiting', 'waiting', { verdict: 'pending', reasons: [] }],
  ['retry', 'retry', { verdict: 'retry', reasons: ['questions_missed', 'page_hidden', 'interrupted'] }],
  ['failed', 'failed', { verdict: 'failed', reasons: ['not_confirmed'] }],
  ['busy', 'failed', { verdict: 'failed', reasons: ['network_busy'], retryAfter: 1_800 }],
  ['step-up', 'step_up', { verdict: 'step_up', reasons: ['proof_needed'], stepUp: key }],
  [
    'step-up-busy',
    'step_up',
    { verdict: 'step_up', reasons: ['network_busy'], stepUp: key, retryAfter: 90_000 },
  ],
  ['passed', 'passed', { verdict: 'passed', reasons: [] }],
] as const

const openPage = async ({ width, colorScheme }: View) => {
  assert.ok(browser && fixture)
  const { agentId } = await fixture.harness.register('test')
  const attributes = `site="${agentId}" help-url="/help" privacy-url="/privacy"`
  const site = await fixture.open(
    `<form method="post" action="/send"><pohf-check ${attributes}></pohf-check></form>`,
    'check',
  )
  const context = await browser.newContext({
    viewport: { width, height: 640 },
    colorScheme,
    reducedMotion: width === 320 ? 'reduce' : 'no-preference',
  })
  await context.addInitScript(questionTimers)
  const page = await context.newPage()
  trackSession(page)
  await page.goto(site.url)
  return { fixture, site, context, page }
}
type OpenPage = Awaited<ReturnType<typeof openPage>>

/** The page hears nothing from the service before the release: a screen stays for as long as it is looked at. */
const hold = async ({ fixture, site, page }: OpenPage): Promise<() => Promise<void>> => {
  const { promise, resolve } = Promise.withResolvers<void>()
  fixture.network.held.set(site.url, promise)
  await page.evaluate('isHeld = true')
  return async () => {
    assert.equal(await inState(page, 'stuck').count(), 0, 'the screen was left while it was looked at')
    fixture.network.held.delete(site.url)
    resolve()
    await page.evaluate('isHeld = false')
  }
}

/** The open question runs out. */
const endQuestion = async (page: Page): Promise<void> => {
  await pollUntil('the time of the question is over', () => page.evaluate<boolean>('ended.length > 0'))
  await page.evaluate('ended.splice(0).forEach((run) => run())')
}

/** The screens in which a question is open, each from a picture to the next. */
const checkQuestions = async (opened: OpenPage, check: (state: string) => Promise<void>): Promise<void> => {
  const { page } = opened
  await page.locator('pohf-check [data-state=point] .bar.runs').waitFor()
  const releasePoint = await hold(opened)
  await check('point')
  await endQuestion(page)
  await releasePoint()
  await page.locator('pohf-check [data-state=point] b', { hasText: 'Too late' }).waitFor()
  const releaseMissed = await hold(opened)
  await check('missed')
  await page.click('pohf-check .other')
  await releaseMissed()
  await page.locator('pohf-check [data-state=choose] .bar.runs').waitFor()
  const releaseChoose = await hold(opened)
  await check('choose')
  await page.click('pohf-check .x')
  await releaseChoose()
  await inState(page, 'idle').waitFor()
}

/** From the start to the first question, with what can be in the way. */
const checkBefore = async (opened: OpenPage, check: (state: string) => Promise<void>): Promise<void> => {
  const { fixture, site, context, page } = opened
  await page.locator('pohf-check .go').waitFor()
  await check('idle')
  await page.locator('pohf-check summary').click()
  await check('details')
  await page.evaluate(
    "Object.defineProperty(navigator, 'globalPrivacyControl', { value: true, configurable: true }); document.querySelector('pohf-check').reset()",
  )
  await check('private')
  await page.evaluate("delete navigator.globalPrivacyControl; document.querySelector('pohf-check').reset()")
  await context.setOffline(true)
  await page.click('pohf-check .go')
  await inState(page, 'offline').waitFor()
  await check('offline')
  await context.setOffline(false)
  await inState(page, 'idle').waitFor()
  const release = await hold(opened)
  await page.click('pohf-check .go')
  await inState(page, 'opening').waitFor()
  await check('opening')
  fixture.network.cut.add(site.url)
  await release()
  await inState(page, 'stuck').or(inState(page, 'failed')).waitFor()
  await check('unreachable')
  fixture.network.cut.delete(site.url)
  await page.click('pohf-check .again')
  await checkQuestions(opened, check)
}

const checkEveryState = async (view: View): Promise<void> => {
  const opened = await openPage(view)
  const { fixture, site, context, page } = opened
  const check = (state: string) => checkPage(page, `${state}-${view.width}-${view.colorScheme}`)
  try {
    await checkBefore(opened, check)
    for (const [name, state, answer] of verdicts) {
      fixture.network.changed.set(`${site.url} /finish`, (own) => ({ ...own, ...answer }))
      await page.click('pohf-check .go')
      await Promise.race([answerAll(page, fixture), inState(page, state).waitFor()])
      await inState(page, state).waitFor()
      await check(name)
      await page.evaluate("document.querySelector('pohf-check').reset()")
    }
  } finally {
    await context.close()
    site.close()
  }
}

void describe('every state, looked at', { concurrency: 2 }, () => {
  for (const view of [...views, ...phones])
    void test(`${view.width} px, ${view.colorScheme}`, { skip }, () => checkEveryState(view))
})
