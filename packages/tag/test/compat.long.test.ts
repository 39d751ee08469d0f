import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { pollUntil } from '../../server/test/fixtures/polling.ts'
import { findChromium, launch } from '../../web/test/browser.ts'
import {
  actAsPerson,
  answerUntil,
  checkText,
  personsBrowser,
  sessionOf,
  startFixture,
  trackSession,
} from './fixture.ts'

// Pages that were written for other services. The address of the script and the site key are all that is ours.

const chromium = findChromium()
const skip = 'missing' in chromium ? chromium.missing : false
const fixture = 'path' in chromium ? await startFixture() : undefined
const browser = 'path' in chromium ? await launch(chromium.path) : undefined
after(async () => {
  await browser?.close()
  fixture?.close()
})

const callbacks = `window.told = []
for (const name of ['onLoaded', 'onDone', 'onExpired', 'onError'])
  window[name] = (value) => told.push([name, value ?? ''])`
/** Keeps the timer of 270 s, to run it at once: a moved clock would not fit the times of events. */
const timers = `const start = setTimeout
window.setTimeout = (run, ms, ...values) => (ms > 200_000 && ms <= 270_000 ? ((window.expire = run), -1) : start(run, ms, ...values))
const stop = clearTimeout
window.clearTimeout = (timer) => (timer === -1 ? (window.expire = null) : stop(timer))`

/** The policy of the page forbids the browser to wait for an expression itself. */
const waitUntil = (page: Page, expression: string) =>
  pollUntil(expression, () => page.evaluate<boolean>(expression))

type Markup = (site: string) => string

const makeVisit = async (script: string, markup: Markup) => {
  assert.ok(browser && fixture)
  const { harness, service } = fixture
  const { agentId, apiKey } = await harness.register('test')
  const content = `<script async src="${service.url}${script}"></script><form method="post" action="/send">${markup(agentId)}<button id="send">Send</button></form>`
  const site = await fixture.open(content, null)
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...personsBrowser })
  const page = await context.newPage()
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(error.message))
  trackSession(page)
  await actAsPerson(context)
  await context.addInitScript(callbacks)
  await context.addInitScript(timers)
  // The fixture knows its scripts by their path alone.
  await page.route(/\/api\.js\?/, async (route) =>
    route.fulfill({ response: await route.fetch({ url: route.request().url().split('?')[0] ?? '' }) }),
  )
  return {
    page,
    agentId,
    faults,
    open: async () => {
      await page.goto(site.url)
      await waitUntil(page, 'window.pohf !== undefined')
    },
    told: () => page.evaluate<string[][]>('told'),
    /** Answers the check that runs, and returns its session. */
    pass: async () => {
      await answerUntil(page, fixture, 'passed')
      await waitUntil(page, "told.some(([name]) => name === 'onDone')")
      return sessionOf(page)
    },
    /** What the form carried. */
    send: async () => {
      await page.click('#send')
      await page.waitForSelector('#thanks')
      return new URLSearchParams(site.sent.at(-1)?.body)
    },
    siteverify: async (path: string, response: string | null) => {
      const body = new URLSearchParams({ secret: apiKey, response: response ?? '' })
      const answer = await harness.call('POST', path, {
        raw: String(body),
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      })
      return answer.json
    },
    close: async () => {
      await context.close()
      site.close()
    },
  }
}
type Visit = Awaited<ReturnType<typeof makeVisit>>

/** A visit to a page with this form and this script. */
const visitPage = (
  name: string,
  { script, markup }: { readonly script: string; readonly markup: Markup },
  body: (visit: Visit) => Promise<void>,
): void =>
  void test(name, { skip }, async () => {
    const visit = await makeVisit(script, markup)
    try {
      await visit.open()
      await body(visit)
      assert.deepEqual(visit.faults, [], 'no fault')
    } finally {
      await visit.close()
    }
  })

/** The bytes of a script, gzipped. */
const sizeOf = async (path: string): Promise<number> => {
  const text = await (await fetch(`${fixture?.service.url}${path}`)).text()
  assert.doesNotMatch(text, /\beval\(|new Function|innerHTML|document\.write/)
  return gzipSync(text, { level: 9 }).length
}

test('compat.js is the check and at most 1,250 bytes more, gzipped', { skip }, async (t) => {
  const [check, compat] = [await sizeOf('/check.js'), await sizeOf('/recaptcha/api.js')]
  t.diagnostic(`compat.js: ${compat} bytes gzipped, ${compat - check} more than check.js`)
  assert.ok(compat > check && compat - check <= 1_250, `${compat}, ${compat - check} more`)
})

visitPage(
  'a page of reCAPTCHA: its element, its callback, its field, its endpoint',
  {
    script: '/recaptcha/api.js',
    markup: (site) =>
      `<div class="g-recaptcha" data-sitekey="${site}" data-callback="onDone" data-theme="dark"></div>`,
  },
  async (visit) => {
    const { page } = visit
    await page.click('pohf-check .go')
    const sessionId = await visit.pass()
    assert.match(await checkText(page), /Good for 4 minutes/, 'as long as siteverify accepts it')
    assert.deepEqual(await visit.told(), [['onDone', sessionId]])
    assert.equal(await page.getAttribute('pohf-check', 'theme'), 'dark')
    assert.deepEqual(await page.evaluate('[grecaptcha.getResponse(), grecaptcha.getResponse(0)]'), [
      sessionId,
      sessionId,
    ])
    assert.deepEqual(await page.evaluate('[typeof hcaptcha, typeof turnstile]'), ['undefined', 'undefined'])
    const form = await visit.send()
    assert.equal(form.get('g-recaptcha-response'), sessionId)
    const answer = await visit.siteverify('/recaptcha/api/siteverify', form.get('g-recaptcha-response'))
    assert.deepEqual([answer.success, answer.hostname], [true, '127.0.0.1'])
    const again = await visit.siteverify('/recaptcha/api/siteverify', sessionId)
    assert.deepEqual(again['error-codes'], ['timeout-or-duplicate'])
  },
)

visitPage(
  'a page of reCAPTCHA v3: each call has its own action, and its promise waits while the person tries again',
  { script: '/recaptcha/api.js?render=YOUR_AGENT_ID', markup: () => '' },
  async (visit) => {
    const { page, agentId } = visit
    const execute = (action: string) =>
      page.evaluate<void>(
        `void grecaptcha.execute('${agentId}', { action: '${action}' }).then((token) => told.push(['resolved', token]), (error) => told.push(['rejected', error.message]))`,
      )
    const answer = async (wanted: 'passed' | 'retry') => {
      assert.ok(fixture)
      await page.locator('pohf-check .w').waitFor()
      await answerUntil(page, fixture, wanted, { wrong: wanted === 'retry' ? 6 : 0 })
    }
    const verifiedAction = async (token: string | undefined) =>
      (await visit.siteverify('/recaptcha/api/siteverify', token ?? '')).action

    await execute('sign-up')
    await answer('retry')
    assert.deepEqual(await visit.told(), [], 'the person can still pass')
    await page.getByRole('button', { name: 'Try again' }).click()
    await answer('passed')
    await waitUntil(page, 'told.length === 1')
    assert.deepEqual(await visit.told(), [['resolved', sessionOf(page)]])
    assert.equal(await verifiedAction(sessionOf(page)), 'sign-up')

    await execute('log-in')
    await answer('passed')
    await waitUntil(page, 'told.length === 2')
    assert.deepEqual((await visit.told()).at(-1), ['resolved', sessionOf(page)])
    assert.equal(await verifiedAction(sessionOf(page)), 'log-in')

    await execute('log-in')
    await answer('retry')
    await page.getByRole('button', { name: 'Stop the check' }).click()
    await waitUntil(page, 'told.length === 3')
    assert.deepEqual((await visit.told()).at(-1), ['rejected', 'left'])
  },
)

visitPage(
  'a button of reCAPTCHA: a second click after a pass gives the page its response again, until the check is removed',
  {
    script: '/recaptcha/api.js',
    markup: (site) => `<button class="g-recaptcha" data-sitekey="${site}" data-callback="onDone">Go</button>`,
  },
  async (visit) => {
    const { page } = visit
    await page.click('button.g-recaptcha')
    await page.locator('pohf-check .w').waitFor()
    const sessionId = await visit.pass()
    await page.click('button.g-recaptcha')
    assert.deepEqual(await visit.told(), [
      ['onDone', sessionId],
      ['onDone', sessionId],
    ])
    await page.evaluate('grecaptcha.remove()')
    assert.equal(await page.evaluate('expire'), null, 'what is removed does not expire')
  },
)

visitPage(
  'a page of hCaptcha, invisible: execute shows the check and returns its response',
  {
    script: '/1/api.js',
    markup: (site) =>
      `<div class="h-captcha" data-sitekey="${site}" data-callback="onDone" data-size="invisible"></div>`,
  },
  async (visit) => {
    const { page } = visit
    await page.evaluate(
      'void hcaptcha.execute(undefined, { async: true }).then(({ response }) => told.push(["resolved", response]))',
    )
    await page.locator('pohf-check .w').waitFor()
    const sessionId = await visit.pass()
    const told = new Map((await visit.told()).map(([name, value]) => [name, value]))
    assert.deepEqual([told.get('onDone'), told.get('resolved'), told.size], [sessionId, sessionId, 2])
    assert.equal(await page.evaluate('grecaptcha.getResponse()'), sessionId)
    const form = await visit.send()
    assert.deepEqual(
      [form.get('h-captcha-response'), form.get('g-recaptcha-response')],
      [sessionId, sessionId],
    )
    assert.equal((await visit.siteverify('/siteverify', sessionId)).success, true)
  },
)

visitPage(
  'a page of Turnstile, explicit: onload, render, expiry, reset, error and remove',
  {
    script: '/turnstile/v0/api.js?render=explicit&onload=onLoaded',
    markup: (site) =>
      `<div id="place" class="cf-turnstile" data-sitekey="${site}"></div><div id="other"></div>`,
  },
  async (visit) => {
    const { page, agentId } = visit
    await waitUntil(page, 'told.length > 0')
    assert.deepEqual(await visit.told(), [['onLoaded', '']])
    assert.equal(await page.locator('pohf-check').count(), 0, 'explicit: nothing is rendered yet')
    const render = (place: string, site: string) =>
      page.evaluate<string>(
        `turnstile.render(${JSON.stringify(place)}, { sitekey: ${JSON.stringify(site)}, action: 'sign-up', theme: 'auto', language: 'auto', callback: onDone, 'expired-callback': onExpired, 'error-callback': 'onError' })`,
      )
    const id = await render('#place', agentId)
    assert.match(id, /./)
    assert.equal(await render('#place', agentId), id, 'an element has one widget')
    const response = () => page.evaluate<string>(`turnstile.getResponse(${JSON.stringify(id)})`)
    assert.equal(await response(), '')
    assert.deepEqual(
      await page.evaluate(
        "['theme', 'lang'].map((name) => document.querySelector('pohf-check').hasAttribute(name))",
      ),
      [false, false],
      'auto is what the check does by itself',
    )
    await page.click('pohf-check .go')
    const sessionId = await visit.pass()
    assert.equal(await response(), sessionId)
    const answer = await visit.siteverify('/turnstile/v0/siteverify', sessionId)
    assert.deepEqual([answer.success, answer.action], [true, 'sign-up'])

    await page.evaluate('expire()')
    assert.deepEqual((await visit.told()).at(-1), ['onExpired', ''])
    assert.deepEqual([await response(), await page.evaluate(`turnstile.isExpired('#place')`)], ['', true])
    assert.equal(await page.inputValue('input[name=cf-turnstile-response]'), '')
    await page.evaluate(`turnstile.reset(${JSON.stringify(id)})`)
    assert.equal(await page.evaluate(`turnstile.isExpired('#place')`), false)
    await page.evaluate(`turnstile.remove(${JSON.stringify(id)})`)
    assert.equal(await page.locator('pohf-check').count(), 0)

    await render('#other', 'agt_nobody')
    await page.click('pohf-check .go')
    await waitUntil(page, "told.at(-1)[0] === 'onError'")
    assert.deepEqual((await visit.told()).at(-1), ['onError', 'not_found'])
  },
)
