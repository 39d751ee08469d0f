import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
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
  const page = await context.newPage()
  trackSession(page)
  await page.goto(site.url)
  return { fixture, site, context, page }
}
type OpenPage = Awaited<ReturnType<typeof openPage>>

/** From the start to the first question, with what can be in the way. */
const checkBefore = async (
  { fixture, site, context, page }: OpenPage,
  check: (state: string) => Promise<void>,
): Promise<void> => {
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
  fixture.network.cut.add(site.url)
  await page.click('pohf-check .go')
  await inState(page, 'opening').waitFor()
  await check('opening')
  await inState(page, 'stuck').or(inState(page, 'failed')).waitFor()
  await check('unreachable')
  fixture.network.cut.delete(site.url)
  await page.click('pohf-check .again')
  await page.locator('pohf-check [data-state=point] .bar.runs').waitFor()
  await check('point')
  await page.locator('pohf-check [data-state=point] b', { hasText: 'Too late' }).waitFor()
  await check('missed')
  await page.click('pohf-check .other')
  await page.locator('pohf-check [data-state=choose] .bar.runs').waitFor()
  await check('choose')
  await page.click('pohf-check .x')
  await inState(page, 'idle').waitFor()
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
