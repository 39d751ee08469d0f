import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endpoints, operatorCookie, operatorEndpoints, type Endpoint } from '@pohf/protocol'
import { startHarness, type TestResponse } from '../../test/fixtures/harness.ts'
import {
  addPasskey,
  makeSignedInOperator,
  openOperatorPage,
  type OperatorPage,
} from '../../test/fixtures/people/operator-page.ts'
import { makePasskey } from '../../test/fixtures/people/authenticator.ts'
import { registerPartner } from '../../test/fixtures/partner.ts'
import { assertRefusal } from '../../test/fixtures/refusal.ts'
import { inTransaction } from '../platform/db/db.ts'
import * as operators from './index.ts'

const harness = await startHarness({ PAYOUT_APPROVAL: 'on' })
const partner = await registerPartner(harness)
const minute = 60_000
const rows: readonly Endpoint[] = operatorEndpoints
const pathOf = (row: Endpoint) => row.path.replaceAll(/\{\w+\}/g, 'none')
const send = (method: string, path: string, key: string, body?: unknown) =>
  harness.callOperator(method, `/operator/${path}`, { key, ...(body === undefined ? {} : { body }) })

test('a sign-in makes a new cookie, and ends the session of the cookie that was sent', async () => {
  const attacker = await makeSignedInOperator(harness, 'machine', 'Attacker')
  const victim = await makeSignedInOperator(harness, 'machine', 'Victim')
  const planted = attacker.page.session() ?? ''
  const page = openOperatorPage(harness)
  page.cookies.set(operatorCookie, planted)
  assert.equal((await page.usePasskey(victim.passkey)).status, 200)
  assert.notEqual(page.session(), planted)
  // Whoever planted the cookie is not signed in as the victim, and no longer as themselves.
  assertRefusal(await attacker.page.post('token', { active: true }), 401, 'sign_in_required')
  const invented = openOperatorPage(harness)
  invented.cookies.set(operatorCookie, `ops_aa${'x'.repeat(42)}`)
  await invented.usePasskey(victim.passkey)
  assert.notEqual(invented.session(), `ops_aa${'x'.repeat(42)}`)
})

test('the cookie is for this host, over TLS, for no script and no other site', async () => {
  const { passkey } = await makeSignedInOperator(harness)
  const page = openOperatorPage(harness)
  const asked = await page.post('options')
  const entered = await page.usePasskey(passkey)
  for (const [answer, seconds] of [
    [asked, 300],
    [entered, 12 * 3_600],
  ] as const)
    assert.match(
      answer.headers['set-cookie'] ?? '',
      new RegExp(
        `^__Host-pohf_operator\\w*=\\w[\\w-]{47}; Path=/; Max-Age=${seconds}; Secure; HttpOnly; SameSite=Strict$`,
      ),
    )
})

/** Requests as pages of other sites can make them, with a cookie that a browser should not have sent. */
const forgeries = (page: OperatorPage): Readonly<Record<string, Record<string, string>>> => ({
  'another site': { origin: 'https://evil.example' },
  'a page of the public listener': { origin: harness.ctx.config.BASE_URL, 'sec-fetch-site': 'same-site' },
  'the operators’ page at an IP address': { origin: page.origin.replace('operators.localhost', '127.0.0.1') },
  'a page without an origin': { origin: 'null' },
  'another site behind a proxy that drops Origin': { origin: '', 'sec-fetch-site': 'cross-site' },
  'an address that somebody typed': { 'sec-fetch-site': 'none' },
  'a form': { 'content-type': 'application/x-www-form-urlencoded' },
  'text without a preflight': { 'content-type': 'text/plain' },
})
/** Rows that nobody is signed in for read the body first, and refuse its type. */
const assertForgeryRefused = (answer: TestResponse): void =>
  answer.status === 415
    ? assertRefusal(answer, 415, 'unsupported_media_type')
    : assertRefusal(answer, 403, 'forbidden')

test('no write with the cookie is taken from a page of another site', async () => {
  const { page, passkey } = await makeSignedInOperator(harness)
  const cookie = page.session()
  const credential = await page.assert(passkey)
  const writes = [
    ['token', { active: true }],
    ['sign-out', {}],
    ['options', {}],
    ['passkey', { credential }],
  ] as const
  for (const [name, headers] of Object.entries(forgeries(page)))
    for (const [path, body] of writes) {
      const answer = await page.send('POST', path, { body, headers })
      assertForgeryRefused(answer)
      assert.equal(answer.headers['set-cookie'], undefined, `${name} at ${path} set a cookie`)
    }
  assert.equal(page.session(), cookie)
  assert.equal((await page.post('token', { active: true })).status, 200)
  assert.equal((await page.post('passkey', { credential })).status, 200, 'the challenge was not consumed')
})

test('the cookie opens nothing but a bearer, and the bearer nothing on the public listener', async () => {
  const { page } = await makeSignedInOperator(harness)
  const cookie = `${operatorCookie}=${page.session()}`
  const headers = { cookie, origin: page.origin, 'sec-fetch-site': 'same-origin' }
  let seen = 0
  for (const row of rows.filter(({ auth }) => auth === 'operator')) {
    const answer = await harness.callOperator(row.method, pathOf(row), { headers })
    assertRefusal(answer, 401, 'missing_api_key')
    seen += 1
  }
  const key = await page.bearer()
  for (const row of endpoints.filter(({ auth }) => auth === 'bearer')) {
    const answer = await harness.call(row.method, pathOf(row), { key, headers })
    assertRefusal(answer, 401, 'malformed_api_key')
    seen += 1
  }
  for (const path of ['/operator/sign-in/token', '/operator/operators'])
    assertRefusal(await harness.call('POST', path, { key, headers, body: {} }), 404, 'not_found')
  assert.ok(seen > 80, `saw ${seen} rows`)
})

test('a session ends after 30 minutes in which nobody used the page, whatever the page reads, and after 12 hours', async () => {
  const idle = await makeSignedInOperator(harness)
  await harness.advance(20 * minute)
  const key = await idle.page.bearer(false)
  assert.equal((await send('GET', 'operators', key)).status, 200)
  await harness.advance(10 * minute + 1_000)
  assertRefusal(await idle.page.post('token', { active: true }), 401, 'sign_in_required')
  const busy = await makeSignedInOperator(harness)
  for (let quarters = 1; quarters < 48; quarters += 1) {
    await harness.advance(15 * minute)
    assert.equal((await busy.page.post('token', { active: true })).status, 200, `after ${quarters} quarters`)
  }
  await harness.advance(15 * minute + 1_000)
  assertRefusal(await busy.page.post('token', { active: true }), 401, 'sign_in_required')
})

test('a bearer ends after ten minutes', async () => {
  const { page } = await makeSignedInOperator(harness)
  const key = await page.bearer()
  await harness.advance(9 * minute)
  assert.equal((await send('GET', 'operators', key)).status, 200)
  await harness.advance(minute + 1_000)
  assertRefusal(await send('GET', 'operators', key), 401, 'invalid_api_key')
  assert.equal((await send('GET', 'operators', await page.bearer())).status, 200)
})

test('an operator has 20 sessions at most: the oldest ends', async () => {
  const { page, passkey } = await makeSignedInOperator(harness)
  for (let n = 0; n < 20; n++) assert.equal((await openOperatorPage(harness).usePasskey(passkey)).status, 200)
  assertRefusal(await page.post('token', { active: true }), 401, 'sign_in_required')
})

/** The only change that an old sign-in may make: it takes away access. */
const exempt = ['operators.session-end']

test('15 minutes after the sign-in, nothing is changed with a bearer, until the passkey is used again', async () => {
  const { page, passkey, operatorKey } = await makeSignedInOperator(harness)
  await harness.advance(15 * minute + 1_000)
  const key = await page.bearer()
  const changing = rows.filter(({ auth, method }) => auth === 'operator' && method !== 'GET')
  assert.ok(changing.length > 30, `saw only ${changing.length} rows`)
  for (const row of changing.filter(({ publicId }) => !exempt.includes(publicId)))
    assertRefusal(
      await harness.callOperator(row.method, pathOf(row), { key, ...(row.body ? { body: {} } : {}) }),
      403,
      'operator_sign_in_again',
    )
  assert.equal((await send('GET', 'audit', key)).status, 200, 'reading goes on')
  assertRefusal(await addPasskey(harness, key, makePasskey()), 403, 'operator_sign_in_again')
  assert.equal((await addPasskey(harness, operatorKey, makePasskey())).status, 200, 'a key is exempt')
  assert.equal((await page.usePasskey(passkey)).status, 200)
  const made = await send('POST', 'operators', await page.bearer(), { name: 'Made' })
  assert.equal(made.status, 200, made.text)
})

const postAsPartner = (path: string, body: unknown) =>
  harness.call('POST', `/api/partner/${path}`, { key: partner.apiKey, body })

const requestPayout = async (userRef: string): Promise<string> => {
  await postAsPartner('points/convert', { userRef, points: 100 })
  return (await postAsPartner('payout/request', { userRef, stars: 40 })).json.requestId
}

test('a payout is approved by a recent sign-in of another operator, and not by a stale one', async () => {
  const ada = await makeSignedInOperator(harness, 'machine', 'Ada')
  const bob = await makeSignedInOperator(harness, 'machine', 'Bob')
  const requestId = await requestPayout('stale')
  const step = async (page: OperatorPage, name: string) =>
    send('POST', `payouts/${requestId}/${name}`, await page.bearer())
  assert.equal((await step(ada.page, 'review')).status, 200)
  assertRefusal(await step(ada.page, 'approve'), 403, 'forbidden')
  await harness.advance(16 * minute)
  assertRefusal(await step(bob.page, 'approve'), 403, 'operator_sign_in_again')
  await bob.page.usePasskey(bob.passkey)
  const approved = await step(bob.page, 'approve')
  assert.equal(approved.status, 200, approved.text)
})

test('an operator who was made over the listener neither reviews nor approves payouts with a bearer', async () => {
  const ada = await makeSignedInOperator(harness, 'machine', 'Ada')
  const made = await makeSignedInOperator(harness, ada.operatorId, 'Made')
  const requestId = await requestPayout('made')
  const refused = await send('POST', `payouts/${requestId}/review`, await made.page.bearer())
  assertRefusal(refused, 403, 'forbidden')
  assert.match(refused.json.message, /created on the machine/)
})

test('a restore ends every session and challenge of operators', async () => {
  const { page } = await makeSignedInOperator(harness)
  const ended = await inTransaction(harness.ctx, 'system', operators.voidSignIns)
  assert.ok(ended >= 1)
  assertRefusal(await page.post('token', { active: true }), 401, 'sign_in_required')
})
