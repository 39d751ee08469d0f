import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { operatorCookie } from '@pohf/protocol'
import * as operators from '../../server/src/operators/index.ts'
import { makeSignedInOperator } from '../../server/test/fixtures/people/operator-page.ts'
import { createBrowserTest, tabTo, waitForText } from './browser-test.ts'
import { lookInEveryView } from './browser.ts'
import { firstView } from './views.ts'

const inBrowser = await createBrowserTest()

/** Gives the browser an authenticator that verifies its user. */
const plugInAuthenticator = async (page: Page): Promise<void> => {
  const devtools = await page.context().newCDPSession(page)
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
}

inBrowser(
  'an operator adds a passkey after the first sign-in by key, and from then on signs in with it, by keyboard',
  async ({ page, service }) => {
    const { harness } = service
    const { operatorId, operatorKey } = await operators.create(harness.ctx, 'machine', 'Ada')
    const { origin } = operators.siteOf(harness.ctx.config)
    await plugInAuthenticator(page)
    await page.goto(`${origin}/operator`)
    await page.waitForSelector('text=Sign in with a passkey')
    await lookInEveryView(page, 'operator-sign-in')
    await page.click('text=Sign in with an operator key')
    await page.fill('#key', operatorKey)
    await page.press('#key', 'Enter')
    await waitForText(page, 'Add a passkey?')
    await lookInEveryView(page, 'operator-passkey-offer')
    await page.fill('#passkey-name', 'Laptop')
    await page.press('#passkey-name', 'Enter')
    await page.waitForSelector('.app main h1')
    await page.reload()
    await tabTo(page, 'Sign in with a passkey')
    await page.keyboard.press('Enter')
    await page.waitForSelector('.app main h1')
    const cookie = (await page.context().cookies()).find(({ name }) => name === operatorCookie)
    assert.deepEqual(
      [cookie?.domain, cookie?.httpOnly, cookie?.secure, cookie?.sameSite],
      ['operators.localhost', true, true, 'Strict'],
    )
    assert.deepEqual(await page.evaluate('[document.cookie, localStorage.length, sessionStorage.length]'), [
      '',
      0,
      0,
    ])
    await page.reload()
    await page.waitForSelector('.app main h1')
    await page.evaluate('location.hash = "#/access"')
    await waitForText(page, 'You have 1 passkey')
    await waitForText(page, 'this one')
    await lookInEveryView(page, 'operator-access')
    // The sign-in is no longer recent: the page asks for the passkey, and repeats the call.
    await harness.owner.query("update operator_sessions set created_at = created_at - interval '16 minutes'")
    await page.click('text=Remove')
    await page.click('text=Remove the passkey')
    await page.waitForSelector('text=Sign in with a passkey')
    const { rows } = await harness.owner.query<{ action: string }>(
      'select action from operator_audit where operator_id = $1 order by seq',
      [operatorId],
    )
    assert.deepEqual(
      rows.map(({ action }) => action),
      [
        'operator.passkey_add',
        'operator.sign_in',
        'operator.session_end',
        'operator.sign_in',
        'operator.passkey_remove',
      ],
    )
  },
  firstView,
)

/** Puts the cookie of an operator who is signed in into the browser. */
const setSession = async (page: Page, token: string | undefined): Promise<void> => {
  const devtools = await page.context().newCDPSession(page)
  const { success } = await devtools.send('Network.setCookie', {
    name: operatorCookie,
    value: token ?? '',
    // Not its domain: the prefix of the name allows none.
    url: 'https://operators.localhost/',
    path: '/',
    secure: true,
    httpOnly: true,
    sameSite: 'Strict',
  })
  assert.ok(success)
}

inBrowser('a tab stops when another operator signs in in the same browser', async ({ page, service }) => {
  const { harness } = service
  const { origin } = operators.siteOf(harness.ctx.config)
  const first = await makeSignedInOperator(harness, 'machine', 'First')
  const second = await makeSignedInOperator(harness, 'machine', 'Second')
  await setSession(page, first.page.session())
  await page.goto(`${origin}/operator#/access`)
  await waitForText(page, 'You have 1 passkey')
  await setSession(page, second.page.session())
  await first.page.post('sign-out')
  await page.fill('#passkey-name', 'Planted')
  await page.press('#passkey-name', 'Enter')
  await page.locator('[role=alert]', { hasText: 'Another operator signed in in this browser' }).waitFor()
  const { passkeys } = (
    await harness.callOperator('GET', '/operator/sign-in/passkeys', { key: second.operatorKey })
  ).json
  assert.equal(passkeys.length, 1)
  await page.reload()
  await waitForText(page, 'You have 1 passkey')
  await page.click('text=Sign out')
  await page.waitForSelector('text=Sign in with a passkey')
  const answer = await second.page.post('token', { active: true })
  assert.equal(answer.status, 401, 'the session has ended')
})

inBrowser('at another address the page takes the key, and names the address for passkeys', async (opened) => {
  const { page, service } = opened
  const { origin } = operators.siteOf(service.harness.ctx.config)
  await page.goto(`${service.operator.url}/operator`)
  await page.waitForSelector('#key')
  await waitForText(page, `This works only from a page at ${origin}.`)
  await lookInEveryView(page, 'operator-sign-in-elsewhere')
})
