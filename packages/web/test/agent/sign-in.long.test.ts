import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { BrowserContext, Page } from 'playwright-core'
import { startMailbox, textOf } from '../../../server/test/fixtures/mailbox.ts'
import { grantCredits } from '../../../server/test/fixtures/payments/ledger.ts'
import { registerConfirmedAgent } from '../../../server/test/fixtures/people/member.ts'
import { playSession } from '../../../server/test/fixtures/people/play-session.ts'
import { findChromium, launch, lookInEveryView } from '../browser.ts'
import { tabTo, waitForText } from '../browser-test.ts'
import { firstView } from '../views.ts'
import { startWorkerFixture } from '../worker-fixture.ts'

const chromium = findChromium()
const skip = 'missing' in chromium ? chromium.missing : false
const mailbox = skip === false ? await startMailbox() : undefined
after(() => mailbox?.stop())
const service = mailbox
  ? await startWorkerFixture(async () => ({ SMTP_URL: `smtp://127.0.0.1:${mailbox.smtpPort}` }))
  : undefined
const browser = 'path' in chromium ? await launch(chromium.path) : undefined
after(() => browser?.close())

type Opened = { readonly page: Page; readonly context: BrowserContext; readonly url: string }

const openBrowserAt = async (): Promise<Opened> => {
  assert.ok(browser && service)
  const context = await browser.newContext({
    viewport: { width: firstView.width, height: 900 },
    reducedMotion: 'reduce',
  })
  const page = await context.newPage()
  await page.goto(`${service.url}/console`)
  await page.waitForSelector('#email')
  return { page, context, url: service.url }
}

/** The link of the latest mail to an address that has one. */
const mailedLink = async (email: string): Promise<string> => {
  assert.ok(service && mailbox)
  await service.harness.runJobs()
  const texts = mailbox.mails.filter(({ to }) => to.includes(email)).map(textOf)
  const link = texts
    .map((text) => /http\S+#\/link\?token=\S+/.exec(text)?.[0])
    .findLast((found) => found !== undefined)
  assert.ok(link, `no link was mailed to ${email}`)
  return link
}

const signUp = async ({ page }: Opened, email: string): Promise<void> => {
  await page.fill('#account-name', 'Corner Gazette')
  await page.fill('#new-email', email)
  await page.click('text=Create an account')
  await page.locator('main', { hasText: 'Check your mail' }).waitFor()
  await page.goto(await mailedLink(email))
  await page.waitForSelector('.app main h1')
}

test(
  'from the sign-up to a test credential, test and live are a switch, and a reload stays signed in',
  { skip },
  async () => {
    const opened = await openBrowserAt()
    const { page, context } = opened
    await lookInEveryView(page, 'sign-in')
    await signUp(opened, 'ada@example.com')
    await page.locator('.agent', { hasText: 'Corner Gazette' }).waitFor()
    await waitForText(page, 'You are in test mode')
    assert.ok(!page.url().includes('token'), 'the token of the link has left the address')
    assert.equal(await page.evaluate('document.cookie'), '', 'no script can read the cookie')
    const cookie = (await context.cookies()).find(({ name }) => name === '__Host-pohf_console')
    assert.deepEqual(
      [cookie?.httpOnly, cookie?.secure, cookie?.sameSite],
      [true, true, 'Strict'],
      'the cookie of the session',
    )
    await page.evaluate('location.hash = "#/keys"')
    await page.click('text=Create a key with 1 scope')
    const key = (await page.textContent('.note-secret pre')) ?? ''
    await page.click('text=I have kept it')
    const minted = await service?.harness.call('POST', '/api/agents/verify', {
      key,
      body: { sessionId: 'first' },
    })
    assert.equal(minted?.status, 200, minted?.text)
    await page.evaluate('location.hash = "#/credentials"')
    await page.waitForSelector('tbody tr')
    await page.click('label.live')
    await waitForText(page, 'No credential yet')
    assert.match(page.url(), /mode=live/)
    await page.reload()
    await waitForText(page, 'No credential yet')
    await page.evaluate('location.hash = "#/account"')
    await waitForText(page, 'Where you are signed in')
    await lookInEveryView(page, 'account')
    const devtools = await context.newCDPSession(page)
    await devtools.send('WebAuthn.enable')
    await devtools.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    })
    await page.fill('#passkey-name', 'Laptop')
    await page.click('text=Add a passkey')
    await page.locator('.note.ok', { hasText: 'The passkey was added.' }).waitFor()
    await page.click('.menu')
    await page.click('text=Sign out')
    await page.click('text=Use a passkey')
    await page.locator('.agent', { hasText: 'Corner Gazette' }).waitFor()
    await context.close()
  },
)

test(
  'who claims an agent sees its keys and webhooks first, and revokes them unless they untick it',
  { skip },
  async () => {
    assert.ok(service)
    const { harness } = service
    const opened = await openBrowserAt()
    const { page, context } = opened
    await signUp(opened, 'claims@example.com')
    const agents = []
    for (const host of ['hook', 'other']) {
      const agent = await registerConfirmedAgent(harness, 'live', 'claims@example.com')
      const webhook = { url: `https://${host}.attacker.example/x`, events: ['*'] }
      await harness.call('POST', '/api/agents/webhooks', { key: agent.apiKey, body: webhook })
      agents.push(agent)
    }
    const [kept, revoked] = agents
    assert.ok(kept && revoked)
    const statusOf = async (key: string) => (await harness.call('GET', '/api/agents/me', { key })).status
    await page.evaluate('location.hash = "#/account"')
    const formOf = ({ apiKey }: { apiKey: string }) =>
      page
        .locator('div.paste', { has: page.locator('h3') })
        .filter({ hasText: `…${apiKey.slice(-4)}` })
        .last()
    const form = formOf(revoked)
    await form.waitFor()
    const shown = (await form.textContent()) ?? ''
    assert.match(shown, /holds 1 key and 1 webhook\..*other\.attacker\.example/s)
    assert.equal(await form.locator('time').count(), 2, 'when the key was created and last used')
    assert.match(shown, /Every program that uses one of them gets 401 at once\. 1 webhook stops\./)
    assert.equal(await form.getByLabel('Revoke the keys that exist (recommended)').isChecked(), true)
    await lookInEveryView(page, 'claim')
    await form.getByText('Take it into this account').click()
    await form.getByText('Revoke 1 key and use it as the live agent').click()
    await page
      .locator('tr', { hasText: `…${revoked.apiKey.slice(-4)}` })
      .getByText('revoked')
      .waitFor()
    assert.match(page.url(), /mode=live#\/keys/)
    assert.equal(await statusOf(revoked.apiKey), 401)
    assert.equal(await statusOf(kept.apiKey), 200)
    await page.evaluate('location.hash = "#/account"')
    await formOf(kept).getByLabel('Revoke the keys that exist (recommended)').uncheck()
    await formOf(kept).getByText('can go on calling the API as this agent').waitFor()
    await formOf(kept).getByText('Take it into this account').click()
    await formOf(kept).getByText('Use it as the live agent').click()
    await page
      .locator('tr', { hasText: `…${kept.apiKey.slice(-4)}` })
      .getByText('active')
      .waitFor()
    assert.equal(await statusOf(kept.apiKey), 200)
    await context.close()
  },
)

test(
  'by keyboard alone: from the sign-up to the first live session and credential, and a key is rotated',
  { skip },
  async () => {
    assert.ok(service)
    const { harness } = service
    const { page, context } = await openBrowserAt()
    const type = async (field: string, text: string): Promise<void> => {
      await tabTo(page, field)
      await page.keyboard.insertText(text)
    }
    const choose = async (label: string): Promise<void> => {
      await tabTo(page, label)
      await page.keyboard.press('Enter')
    }
    const openPage = async (name: string): Promise<void> => {
      await choose('Menu')
      await choose(name)
    }
    await type('account-name', 'Harbour News')
    await type('new-email', 'lin@example.com')
    await page.keyboard.press('Enter')
    await page.locator('main', { hasText: 'Check your mail' }).waitFor()
    await page.goto(await mailedLink('lin@example.com'))
    await waitForText(page, 'You are in test mode')
    await tabTo(page, ' INPUT')
    assert.equal(await page.evaluate('document.activeElement.name'), 'mode')
    await page.keyboard.press('ArrowRight')
    await page.waitForURL(/mode=live/)
    await openPage('Install')
    await waitForText(page, 'Waiting for your page')
    const snippet = (await page.textContent('pre[aria-label="Snippet for your page"]')) ?? ''
    const agentId = `agt_${/agt_(\w+)/.exec(snippet)?.[1] ?? ''}` as const
    const { sessionId } = await playSession(harness, {
      site: agentId,
      headers: { origin: 'https://news.example' },
    })
    await waitForText(page, 'We saw your page')
    await grantCredits(harness, { agentId }, 5n)
    await openPage('Keys')
    await choose('Create a key with 1 scope')
    const key = (await page.textContent('.note-secret pre')) ?? ''
    assert.match(key, /^svc_live_/)
    const minted = await harness.call('POST', '/api/agents/verify', { key, body: { sessionId } })
    assert.equal(minted.status, 200, minted.text)
    await choose('I have kept it')
    await choose('Rotate')
    await choose('Rotate: the old key works for an hour')
    await waitForText(page, 'The old key works until')
    await choose('I have kept it')
    await openPage('Credentials')
    await waitForText(page, 'The latest credential was issued')
    await context.close()
  },
)

test(
  'by keyboard: a colleague is invited with a role, signs in, and may do what the role allows',
  { skip },
  async () => {
    const owner = await openBrowserAt()
    await signUp(owner, 'grace@example.com')
    await owner.page.evaluate('location.hash = "#/people"')
    await waitForText(owner.page, '1 person can open this account')
    await tabTo(owner.page, 'colleague INPUT')
    await owner.page.keyboard.insertText('viewer@example.com')
    await tabTo(owner.page, 'colleague-role SELECT')
    await owner.page.keyboard.press('End')
    await tabTo(owner.page, 'Send the invitation')
    await owner.page.keyboard.press('Enter')
    await waitForText(owner.page, 'Invited, not here yet')
    await lookInEveryView(owner.page, 'people')
    const colleague = await openBrowserAt()
    await colleague.page.fill('#email', 'viewer@example.com')
    await colleague.page.press('#email', 'Enter')
    await colleague.page.locator('main', { hasText: 'Check your mail' }).waitFor()
    await colleague.page.goto(await mailedLink('viewer@example.com'))
    await colleague.page.waitForSelector('.app main h1')
    await colleague.page.evaluate('location.hash = "#/keys"')
    await colleague.page.click('text=Create a key with 1 scope')
    await colleague.page.locator('[role=alert]', { hasText: 'forbidden' }).waitFor()
    await owner.page.locator('tbody tr', { hasText: 'viewer@example.com' }).locator('text=Remove').click()
    await owner.page.click('text=Remove: it ends their sessions')
    await owner.page.locator('tbody tr', { hasText: 'viewer@example.com' }).waitFor({ state: 'detached' })
    await colleague.page.evaluate('location.hash = "#/credentials"')
    await colleague.page.waitForSelector('#email')
    await owner.context.close()
    await colleague.context.close()
  },
)

test('a link opened in another browser says so, and still works in the first', { skip }, async () => {
  const first = await openBrowserAt()
  await first.page.fill('#account-name', 'Shop')
  await first.page.fill('#new-email', 'linus@example.com')
  await first.page.click('text=Create an account')
  await first.page.locator('main', { hasText: 'Check your mail' }).waitFor()
  const link = await mailedLink('linus@example.com')
  const other = await openBrowserAt()
  await other.page.goto('about:blank')
  await other.page.goto(link)
  await other.page.locator('[role=alert]', { hasText: 'requested in another browser' }).waitFor()
  await lookInEveryView(other.page, 'link-in-another-browser')
  await first.page.goto(link)
  await first.page.waitForSelector('.app main h1')
  await first.page.goto('about:blank')
  await first.page.goto(link)
  await first.page.locator('[role=alert]', { hasText: 'not_found' }).waitFor()
  await first.page.click('text=Continue as linus@example.com')
  await first.page.waitForSelector('.app main h1')
  await first.page.click('text=Menu')
  await first.page.click('text=Sign out')
  await first.page.waitForSelector('#email')
  await first.context.close()
  await other.context.close()
})

/** Signs up in a tab that may be signed in already, as one who follows a link of another account does. */
const followSignUpLink = async (page: Page, name: string, email: string): Promise<void> => {
  await page.evaluate(
    `fetch('/console/sign-up', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: ${JSON.stringify(JSON.stringify({ name, email }))},
    })`,
  )
  await page.goto(await mailedLink(email))
  await page.locator('.agent', { hasText: name }).waitFor()
}

test('a tab sends nothing to the account that another tab opened, and says so', { skip }, async () => {
  const opened = await openBrowserAt()
  const { page, context, url } = opened
  await signUp(opened, 'tabs@example.com')
  await page.evaluate('location.hash = "#/keys"')
  await page.waitForSelector('text=Create a key with 1 scope')
  // The page asks nothing by itself, so that the first call after the change is a write.
  await page.evaluate('Object.defineProperty(document, "visibilityState", { get: () => "hidden" })')
  const other = await context.newPage()
  await other.goto(`${url}/console`)
  await other.waitForSelector('.app main h1')
  await followSignUpLink(other, 'Second Shop', 'tabs-second@example.com')
  const writes: string[] = []
  page.on('request', (request) => {
    if (request.method() === 'POST' && request.url().includes('/api/')) writes.push(request.url())
  })
  await page.click('text=Create a key with 1 scope')
  await page.waitForSelector('text=Another account is open')
  assert.equal(writes.length, 1, 'the write that was refused is not repeated')
  await lookInEveryView(page, 'account-changed')
  await page.click('text=Reload this page')
  await page.locator('.agent', { hasText: 'Second Shop' }).waitFor()
  await context.close()
})

test('people of the account that a tab shows are changed there, or nowhere', { skip }, async () => {
  const opened = await openBrowserAt()
  const { page, context, url } = opened
  await signUp(opened, 'people@example.com')
  await page.evaluate('location.hash = "#/people"')
  await page.waitForSelector('#colleague')
  await page.evaluate('Object.defineProperty(document, "visibilityState", { get: () => "hidden" })')
  const other = await context.newPage()
  await other.goto(`${url}/console`)
  await other.waitForSelector('.app main h1')
  await followSignUpLink(other, 'Third Shop', 'people-second@example.com')
  await page.fill('#colleague', 'invited@example.com')
  await page.click('text=Send the invitation')
  await page.locator('[role=alert]', { hasText: 'other_account' }).waitFor()
  await other.evaluate('location.hash = "#/people"')
  await waitForText(other, '1 person can open this account')
  assert.ok(!(await other.textContent('main'))?.includes('invited@example.com'))
  await context.close()
})

test('after an hour an invitation asks for a new sign-in, one click away', { skip }, async () => {
  assert.ok(service)
  const opened = await openBrowserAt()
  const { page, context } = opened
  await signUp(opened, 'later@example.com')
  await page.evaluate('location.hash = "#/people"')
  await page.fill('#colleague', 'invited-later@example.com')
  await service.harness.advance(3_600_000)
  await page.click('text=Send the invitation')
  await page.locator('[role=alert]', { hasText: 'sign_in_again' }).waitFor()
  await page.click('button:text-is("Sign in again")')
  await page.waitForSelector('#email')
  assert.match(page.url(), /#\/people$/, 'the address stays')
  await context.close()
})

test('a suspended agent is refused once, and the page says why', { skip }, async () => {
  assert.ok(service)
  const opened = await openBrowserAt()
  const { page, context } = opened
  await signUp(opened, 'suspended@example.com')
  await page.evaluate('location.hash = "#/account"')
  const agentId = (await page.textContent('dl.facts code')) ?? ''
  await service.harness.owner.query('update agents set suspended_at = pohf_now() where agent_id = $1', [
    agentId,
  ])
  await page.evaluate('location.hash = "#/keys"')
  await page.reload()
  await page.locator('[role=alert]', { hasText: 'suspended' }).first().waitFor()
  let entries = 0
  page.on('request', (request) => {
    if (request.url().endsWith('/console/account')) entries += 1
  })
  await page.waitForTimeout(1_000)
  assert.equal(entries, 0, 'the page does not enter again by itself')
  await context.close()
})

test('a sign-out that failed is shown, and the page stays closed', { skip }, async () => {
  const opened = await openBrowserAt()
  const { page, context } = opened
  await signUp(opened, 'leaving@example.com')
  await page.route('**/console/sign-out', (route) =>
    route.fulfill({ status: 503, json: { error: 'unavailable', message: 'Try again later.' } }),
  )
  await page.click('.menu')
  await page.click('text=Sign out')
  await page.locator('[role=alert]', { hasText: 'This browser is still signed in' }).waitFor()
  await page.waitForTimeout(500)
  assert.ok(await page.isVisible('#email'))
  await context.close()
})
