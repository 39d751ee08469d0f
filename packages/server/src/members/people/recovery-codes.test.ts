import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../../test/fixtures/harness.ts'
import {
  enrolMember,
  openBrowser,
  registerConfirmedAgent,
  type PersonBrowser,
} from '../../../test/fixtures/people/member.ts'
import {
  createPasskey,
  makePasskey,
  usePasskey,
  type Passkey,
} from '../../../test/fixtures/people/authenticator.ts'
import { assertRefusal } from '../../../test/fixtures/refusal.ts'

const harness = await startHarness()
const live = await registerConfirmedAgent(harness, 'live', 'one@example.com')

const confirmBy = async (browser: PersonBrowser, passkey: Passkey) => {
  const { challenge } = (await browser.post('passkey-options', { purpose: 'confirm' })).json.publicKey
  return usePasskey(passkey, { challenge, origin: browser.origin, flags: 5, counter: 0 })
}
const renew = async (browser: PersonBrowser, passkey: Passkey) =>
  browser.post('me/recovery-codes', { credential: await confirmBy(browser, passkey) })

test('new recovery codes replace the old ones, which stop working at once', async () => {
  const { browser, passkey, recoveryCodes } = await enrolMember(harness, live)
  const renewed = await renew(browser, passkey)
  assert.equal(renewed.status, 200, renewed.text)
  const codes: string[] = renewed.json.recoveryCodes
  assert.equal(new Set([...codes, ...recoveryCodes]).size, 16)
  assert.equal((await browser.get('me')).json.recoveryCodesLeft, 8)
  const phone = openBrowser(harness)
  for (const recoveryCode of recoveryCodes)
    assertRefusal(await phone.post('sign-in', { recoveryCode }), 400, 'passkey_refused')
  assert.equal((await phone.post('sign-in', { recoveryCode: codes[0] })).status, 200)
  assert.ok(!(await phone.get('me')).text.includes(codes[1] ?? ''), 'codes are shown once')
})

test('a login is not enough for new codes: a passkey of the same person must confirm, once', async () => {
  const { browser, passkey } = await enrolMember(harness, live)
  const stranger = await enrolMember(harness, live)
  const refused = async (credential: unknown) =>
    assertRefusal(await browser.post('me/recovery-codes', { credential }), 400, 'passkey_refused')
  await refused({})
  // Signed for another purpose, or by another person.
  const { challenge } = (await browser.post('passkey-options', { purpose: 'sign_in' })).json.publicKey
  await refused(usePasskey(passkey, { challenge, origin: browser.origin, flags: 5, counter: 0 }))
  await refused(await confirmBy(stranger.browser, passkey))
  await refused(await confirmBy(browser, stranger.passkey))
  await refused(await confirmBy(browser, makePasskey()))
  const late = await confirmBy(browser, passkey)
  await harness.advance(6 * 60_000)
  await refused(late)
  const once = await confirmBy(browser, passkey)
  assert.equal((await browser.post('me/recovery-codes', { credential: once })).status, 200)
  await refused(once)
  assertRefusal(
    await openBrowser(harness).post('passkey-options', { purpose: 'confirm' }),
    401,
    'sign_in_required',
  )
  const body = { credential: await confirmBy(browser, passkey) }
  assertRefusal(await openBrowser(harness).post('me/recovery-codes', body), 401, 'sign_in_required')
  assertRefusal(await browser.post('me/recovery-codes', body, 'https://evil.example'), 403, 'forbidden')
})

test('after signing in by a code, a person adds a passkey first, and then gets new codes', async () => {
  const { recoveryCodes } = await enrolMember(harness, live)
  const phone = openBrowser(harness)
  await phone.post('sign-in', { recoveryCode: recoveryCodes[0] })
  const secondPasskey = makePasskey()
  const { challenge } = (await phone.post('passkey-options', { purpose: 'create' })).json.publicKey
  const credential = createPasskey(secondPasskey, { challenge, origin: phone.origin }, { fmt: 'none' })
  assert.equal((await phone.post('me/passkeys', { credential })).status, 200)
  assert.equal((await renew(phone, secondPasskey)).status, 200)
  assert.equal((await phone.get('me')).json.recoveryCodesLeft, 8)
})
