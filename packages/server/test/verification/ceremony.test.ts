import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { verifyCredential, type Fetch } from '@pohf/verify'
import type { ProbeTruth } from '@pohf/protocol/telemetry'
import { findChromium, launch, violationsOf } from '../../../web/test/browser.ts'
import { isEveryView } from '../../../web/test/views.ts'
import { buildPages } from '../../dev/build-pages.ts'
import { expectedAnswerOf } from '../../src/sessions/recording/probes.ts'
import type { RecordingState } from '../../src/sessions/recording/state.ts'
import { startHarness } from '../fixtures/harness.ts'
import { messagesOf, type Messages } from '../../src/members/pages/messages.ts'
import { invite, registerConfirmedAgent } from '../fixtures/people/member.ts'

// Whole ceremonies in a real browser: the page, the passkey of a virtual authenticator, the questions, the credential.

const chromium = findChromium()
const skip = 'missing' in chromium ? chromium.missing : false
if (!skip) assert.deepEqual(await buildPages(['tag', 'web']), [])

/** The address of the service is part of its settings, so its port is chosen before it starts. */
const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' ? (address?.port ?? 0) : 0))
    })
  })
const port = await freePort()
const harness = await startHarness({ PORT: String(port), ATTEST_ALLOW_CUSTOM_ROOTS: 'off' })
await harness.app.api.listen({ host: '127.0.0.1', port })
const browser = 'path' in chromium ? await launch(chromium.path) : undefined
after(() => browser?.close())

const issuer = harness.ctx.config.BASE_URL
const inProcess: Fetch = async (url) => {
  const answer = await harness.call('GET', new URL(url).pathname)
  return new Response(answer.text, { status: answer.status })
}

/** Where set, pictures of every state are put there, to be looked at. */
const picturesFolder = process.env['POHF_PICTURES']
const saveScreenshot = async (page: Page, name: string): Promise<void> => {
  assert.deepEqual(await violationsOf(page), [], name)
  const tooWide = await page.evaluate<string[]>(
    `(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth ? [] : ['the page: ' + scrollWidth + ' px',
      ...[...document.body.querySelectorAll('*')].filter((one) => one.getBoundingClientRect().right > clientWidth)
        .map((one) => one.outerHTML.slice(0, 80))])(document.documentElement)`,
  )
  assert.deepEqual(tooWide, [], `${name} scrolls sideways`)
  if (!picturesFolder) return
  mkdirSync(picturesFolder, { recursive: true })
  await page.screenshot({ path: `${picturesFolder}/${name}.png`, fullPage: true })
}

type View = { readonly width: number; readonly dark: boolean; readonly locale?: string }
type Authenticator = { readonly transport: 'internal' | 'usb'; readonly direct: boolean }

/** A browser of one person: it says that nobody drives it, as a person's does. */
const openPerson = async (view: View, authenticator: Authenticator) => {
  assert.ok(browser)
  const context = await browser.newContext({
    viewport: { width: view.width, height: 800 },
    colorScheme: view.dark ? 'dark' : 'light',
    locale: view.locale ?? 'en-GB',
    userAgent:
      'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36',
  })
  await context.addInitScript('Object.defineProperty(Navigator.prototype, "webdriver", { get: () => false })')
  const page = await context.newPage()
  const devtools = await context.newCDPSession(page)
  await devtools.send('WebAuthn.enable')
  await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: authenticator.transport,
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  if (!authenticator.direct)
    // The page asks for attestation; this person's browser declines it, as most do.
    await context.addInitScript(
      `const create = CredentialsContainer.prototype.create; CredentialsContainer.prototype.create = function (options) { return create.call(this, { publicKey: { ...options.publicKey, attestation: 'none' } }) }`,
    )
  return { context, page }
}

const readOpenProbe = async (): Promise<ProbeTruth | undefined> => {
  const { rows } = await harness.owner.query<{ state: RecordingState }>(
    "select state from session_recorders where status = 'open' order by at desc limit 1",
  )
  const open = rows[0]?.state.schedule.open
  return open ? expectedAnswerOf(open.probe) : undefined
}

/** Answers the questions with the keyboard alone, as the page offers it; gives what was asked. */
const answerByKeyboard = async (page: Page): Promise<string[]> => {
  const asked: string[] = []
  const answered = new Set<string>()
  for (let look = 0; look < 1_200; look += 1) {
    const state = await page.evaluate<string>(
      `(() => { const box = document.querySelector('pohf-check')?.shadowRoot.querySelector('.w'); return box ? box.dataset.state + (box.querySelector('.bar.runs') ? ' runs' : '') : 'gone' })()`,
    )
    if (!/^(opening|choose|waiting)/.test(state)) return asked
    const truth = state.endsWith(' runs') ? await readOpenProbe() : undefined
    if (truth && !answered.has(truth.id) && truth.kind === 'choose') {
      asked.push((await page.locator('pohf-check #title').textContent()) ?? '')
      await sleep(600)
      await page.keyboard.press(String(truth.choice + 1))
      answered.add(truth.id)
    }
    await sleep(60)
  }
  throw new Error('the questions do not end')
}

const enrolInBrowser = async (
  page: Page,
  enrolUrl: string,
  words: Messages,
  name: string,
): Promise<string[]> => {
  await page.goto(enrolUrl)
  await saveScreenshot(page, `${name}-1-consent`)
  const submit = page.locator('#step-consent button.main')
  await submit.click()
  await page.locator('.result:not(:empty)').waitFor()
  assert.equal(await page.locator('#step-consent').isVisible(), true, 'nothing goes on without a yes')
  // Keyboard alone from here on.
  await page.locator('input[name=agree]').focus()
  await page.keyboard.press('Space')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.locator('#step-codes').waitFor()
  const codes = ((await page.locator('.codes').textContent()) ?? '').split('\n')
  await saveScreenshot(page, `${name}-2-codes`)
  await page.keyboard.press('Tab')
  await page.locator('#step-codes button').focus()
  await page.keyboard.press('Enter')
  await page.locator('#step-check pohf-check').waitFor()
  await saveScreenshot(page, `${name}-3-check`)
  const check = page.locator('pohf-check')
  assert.equal(await check.locator('.w').getAttribute('lang'), words.language)
  await check.locator('.other').focus()
  await page.keyboard.press('Enter')
  const asked = await answerByKeyboard(page)
  assert.ok(asked.length >= 2)
  for (const text of asked)
    assert.match(text, words.language === 'de' ? /^Wählen Sie das Wort „/ : /^Choose the word “/)
  await page.locator('#step-done:visible').waitFor()
  await saveScreenshot(page, `${name}-4-done`)
  return codes
}

const agent = await registerConfirmedAgent(harness, 'live', 'shop@example.com')

type CeremonyCase = readonly [string, View, Authenticator]
const fewCases: readonly CeremonyCase[] = [
  ['desk-dark', { width: 1280, dark: true }, { transport: 'usb', direct: true }],
  [
    'german-phone-light',
    { width: 320, dark: false, locale: 'de-AT' },
    { transport: 'internal', direct: false },
  ],
]
const otherCases: readonly CeremonyCase[] = [
  [
    'german-desk-light',
    { width: 1280, dark: false, locale: 'de-DE' },
    { transport: 'internal', direct: true },
  ],
  ['phone-dark', { width: 375, dark: true }, { transport: 'usb', direct: false }],
]
const ceremonyCases = isEveryView ? [...fewCases, ...otherCases] : fewCases

/** The person looks at the recording of the check, with the keyboard alone. */
const viewRecording = async (page: Page, words: Messages, name: string): Promise<void> => {
  await page.getByRole('link', { name: words.me.replay }).first().focus()
  await page.keyboard.press('Enter')
  const slider = page.getByRole('slider')
  await slider.waitFor()
  assert.equal(await page.locator('html').getAttribute('lang'), words.language)
  await page.emulateMedia({ reducedMotion: 'reduce' })
  await saveScreenshot(page, `${name}-6-recording`)
  await slider.focus()
  await page.keyboard.press('Home')
  assert.equal(await slider.inputValue(), '0')
  await page.keyboard.press('Space')
  // Whole seconds, because motion is reduced; a busy machine may draw none of them before the end, which stays.
  await page.getByText(/^(?:[1-9]\d*[.,]0 \/ |([1-9]\d*[.,]\d) \/ \1(?!\d))/).waitFor()
  await page.keyboard.press('Space')
  const rows = page.locator('tbody tr')
  assert.ok((await rows.count()) >= 2, 'the questions of the check')
  await page.goBack()
  await page.getByRole('link', { name: words.me.replay }).first().waitFor()
}
/** The credential of a member verifies with the relying party's library. A passkey in software raises nothing: it is `low`. */
const verifyPersonhood = async (memberId: string): Promise<void> => {
  const minted = await harness.call('POST', '/api/agents/verify-personhood', {
    key: agent.apiKey,
    body: { memberId },
  })
  assert.equal(minted.status, 200, minted.text)
  const result = await verifyCredential(minted.json.pohf_jwt, {
    issuer,
    fetch: inProcess,
    policy: {
      kinds: ['personhood'],
      minAssurance: 'low',
      minQuality: 0.6,
      status: 'if-present',
      allowTest: false,
    },
  })
  assert.ok(result.ok, result.ok ? '' : result.message)
  // The certificate of the virtual key is of a maker that nobody trusts: it counts as software.
  assert.deepEqual(
    [
      result.claims['uniqueness'],
      (result.claims['device'] as { assurance: string }).assurance,
      result.claims['assurance'],
    ],
    ['device', 'software', 'low'],
  )
}
for (const [name, view, authenticator] of ceremonyCases)
  test(
    `${name}: a person enrols in Chromium (${authenticator.transport}, ${authenticator.direct ? 'direct' : 'none'}), and @pohf/verify believes the credential`,
    { skip },
    async () => {
      const { context, page } = await openPerson(view, authenticator)
      const words = messagesOf(view.locale?.startsWith('de') ? 'de' : 'en')
      const faults: string[] = []
      page.on('pageerror', (error) => faults.push(error.message))
      const { memberId, enrolUrl } = await invite(harness, agent.apiKey)
      const codes = await enrolInBrowser(page, enrolUrl, words, name)
      assert.equal(codes.length, 8)
      const cookies = await context.cookies()
      const login = cookies.find((cookie) => cookie.name === '__Host-pohf_me')
      assert.deepEqual(
        [login?.secure, login?.httpOnly, login?.sameSite, login?.path],
        [true, true, 'Strict', '/'],
      )
      await verifyPersonhood(memberId)
      await page.getByRole('link', { name: words.seeData }).click()
      await page.getByTitle(memberId).waitFor()
      assert.equal(await page.getByText(memberId).count(), 0, 'an id is short on the page')
      await saveScreenshot(page, `${name}-5-me`)
      await viewRecording(page, words, name)
      await page.getByRole('button', { name: words.me.renewCodes }).focus()
      await page.keyboard.press('Enter')
      await page.getByText(words.me.renewed).waitFor()
      const renewed = ((await page.locator('.codes').textContent()) ?? '').split('\n')
      assert.deepEqual([renewed.length, renewed.some((code) => codes.includes(code))], [8, false])
      await saveScreenshot(page, `${name}-5-new-codes`)
      await page.getByRole('button', { name: words.codesKept }).click()
      await page.locator('#new-codes').waitFor({ state: 'hidden' })
      const download = page.waitForEvent('download')
      await page.getByRole('link', { name: words.me.download }).click()
      assert.equal((await download).suggestedFilename(), 'pohf-my-data.json')
      await page.getByRole('button', { name: words.me.signOut }).click()
      await page.getByRole('button', { name: words.me.signIn }).waitFor()
      await saveScreenshot(page, `${name}-7-sign-in`)
      await page.getByRole('button', { name: words.me.signIn }).click()
      await page.getByRole('button', { name: words.me.withdraw }).click()
      await page.locator('.chip.stop').waitFor()
      await page.getByRole('button', { name: words.me.erase }).click()
      await page.locator('.result:not(:empty)').waitFor()
      await page.getByRole('checkbox').check()
      await page.getByRole('button', { name: words.me.erase }).click()
      await page.getByText(words.me.erased).waitFor()
      await saveScreenshot(page, `${name}-8-erased`)
      const gone = await harness.call('GET', `/api/agents/members/${memberId}`, { key: agent.apiKey })
      assert.equal(gone.status, 404)
      assert.deepEqual(faults, [])
      await context.close()
    },
  )

test('a new link asks for the questions again once the last check is too old', { skip }, async () => {
  const { context, page } = await openPerson(
    { width: 1_280, dark: false },
    { transport: 'internal', direct: false },
  )
  const words = messagesOf('en')
  const { memberId, enrolUrl } = await invite(harness, agent.apiKey, 'customer-renews')
  await enrolInBrowser(page, enrolUrl, words, 'renewal')
  const agreeAgain = async () => {
    const again = await invite(harness, agent.apiKey, 'customer-renews')
    assert.equal(again.memberId, memberId)
    await page.goto(again.enrolUrl)
    await page.locator('input[name=agree]').check()
    await page.getByRole('button', { name: words.usePasskey }).click()
  }
  await agreeAgain()
  await page.locator('#step-done:visible').waitFor()
  await harness.owner.query(
    "update members set attention_at = attention_at - interval '181 days' where member_id = $1",
    [memberId],
  )
  await agreeAgain()
  await page.locator('#step-check pohf-check').waitFor()
  await page.locator('pohf-check .other').click()
  await answerByKeyboard(page)
  await page.locator('#step-done:visible').waitFor()
  await verifyPersonhood(memberId)
  await context.close()
})

test('the page speaks the language of the browser, and the switch decides', { skip }, async () => {
  const { context, page } = await openPerson(
    { width: 320, dark: true, locale: 'de-AT' },
    { transport: 'internal', direct: false },
  )
  const { enrolUrl } = await invite(harness, agent.apiKey)
  await page.goto(enrolUrl)
  assert.equal(await page.locator('html').getAttribute('lang'), 'de')
  await saveScreenshot(page, 'german-phone-dark')
  await page.getByRole('link', { name: 'English' }).click()
  await page.locator('html[lang=en] h1', { hasText: 'Enrol once' }).waitFor()
  await page.goto(`${new URL(enrolUrl).origin}/m/none`)
  await saveScreenshot(page, 'german-link-gone')
  await context.close()
})
