import assert from 'node:assert/strict'
import { test } from 'node:test'
import { consoleCookie, endpoints, modes } from '@pohf/protocol'
import { startHarness, type TestResponse } from '../../test/fixtures/harness.ts'
import { linkTo, makeAccount, openConsole, type ConsoleBrowser } from '../../test/fixtures/people/console.ts'
import { assertRefusal } from '../../test/fixtures/refusal.ts'

const harness = await startHarness()

/** The writes under /console that need no id of something. */
const writes = [
  ['token', { mode: 'live' }],
  ['people', { email: 'planted@evil.example', role: 'owner' }],
  ['sign-out', {}],
  ['sign-up', { name: 'Evil', email: 'evil@evil.example' }],
  ['sign-in', { email: 'evil@evil.example' }],
  ['passkeys/options', {}],
  ['passkeys/sign-in-options', {}],
] as const

/** Requests as pages of other sites can make them, with a cookie that a browser should not have sent. */
const forgeries: Readonly<Record<string, Record<string, string>>> = {
  'another site': { origin: 'https://evil.example' },
  'a host with our name in front': { origin: 'http://localhost.evil.example' },
  'a page without an origin': { origin: 'null' },
  'another site behind a proxy that drops Origin': { origin: '', 'sec-fetch-site': 'cross-site' },
  'a sibling host': { 'sec-fetch-site': 'same-site' },
  'an address that somebody typed': { 'sec-fetch-site': 'none' },
  'a form': { 'content-type': 'application/x-www-form-urlencoded' },
  'text without a preflight': { 'content-type': 'text/plain' },
}

/** Rows that nobody is signed in for read the body first, and refuse its type. */
const assertRefused = (answer: TestResponse): void =>
  answer.status === 415
    ? assertRefusal(answer, 415, 'unsupported_media_type')
    : assertRefusal(answer, 403, 'forbidden')

test('no write is taken from a page of another site, whatever cookie comes with it', async () => {
  const { owner } = await makeAccount(harness)
  const cookie = owner.session()
  for (const [name, headers] of Object.entries(forgeries))
    for (const [path, body] of writes) {
      const answer = await owner.send('POST', path, { body, headers })
      assertRefused(answer)
      assert.equal(answer.headers['set-cookie'], undefined, `${name} at ${path} set a cookie`)
    }
  assert.equal(owner.session(), cookie)
  assert.equal((await owner.get('people')).json.invitations.length, 0)
  assert.equal((await owner.get('account')).status, 200)
})

test('a body without a type is refused, which a page of another site can send without asking', async () => {
  const { owner } = await makeAccount(harness)
  for (const [path, body] of writes) {
    const answer = await harness.app.api.inject({
      method: 'POST',
      url: `/console/${path}`,
      headers: { origin: owner.origin, cookie: `${consoleCookie}=${owner.session()}` },
      payload: JSON.stringify(body),
    })
    assert.deepEqual([answer.statusCode, answer.json().error], [403, 'forbidden'], path)
  }
})

test('no read is answered to a page of another site', async () => {
  const { owner } = await makeAccount(harness)
  for (const path of ['account', 'people', 'sessions', 'passkeys'])
    for (const site of ['cross-site', 'same-site', 'none']) {
      const answer = await owner.send('GET', path, { headers: { 'sec-fetch-site': site } })
      assertRefusal(answer, 403, 'forbidden')
    }
  const cors = await owner.send('GET', 'account', { headers: { origin: 'https://evil.example' } })
  assert.equal(cors.headers['access-control-allow-origin'], undefined)
})

test('a link does not sign in by a request that another site made', async () => {
  const browser = openConsole(harness)
  await browser.post('sign-up', { name: 'Forged', email: 'forged@example.com' })
  const token = await linkTo(harness, 'forged@example.com')
  for (const headers of Object.values(forgeries))
    assertRefused(await browser.send('POST', 'link', { body: { token }, headers }))
  assert.equal(browser.session(), undefined)
  assert.equal((await browser.post('link', { token })).status, 200)
})

test('the cookie opens nothing outside /console, and the bearer nothing under it', async () => {
  const { owner } = await makeAccount(harness)
  const cookie = `${consoleCookie}=${owner.session()}`
  const key = await owner.bearer('live')
  let rows = 0
  for (const row of endpoints) {
    const path = row.path.replaceAll(/\{\w+\}/g, 'none')
    if (row.auth === 'bearer') {
      const answer = await harness.call(row.method, path, { headers: { cookie, origin: owner.origin } })
      assertRefusal(answer, 401, 'missing_api_key')
      rows += 1
    }
    if (row.auth === 'console') {
      const answer = await harness.call(row.method, path, {
        key,
        headers: { origin: owner.origin },
        ...(row.method === 'GET' || row.method === 'DELETE' ? {} : { body: {} }),
      })
      assertRefusal(answer, 401, 'sign_in_required')
      rows += 1
    }
  }
  assert.ok(rows > 50, `saw ${rows} rows`)
})

/** A thief has the cookie and no page: every header is written by hand. */
const stealFrom = (owner: ConsoleBrowser): ConsoleBrowser => {
  const thief = openConsole(harness, 'curl/8.0')
  thief.cookies.set(consoleCookie, owner.session() ?? '')
  return thief
}

test('an hour after the sign-in a stolen cookie changes nothing that lasts, and its owner can end the session', async () => {
  const { owner, personId } = await makeAccount(harness)
  await harness.advance(61 * 60_000)
  const thief = stealFrom(owner)
  // What it can do, for as long as the session lasts.
  const key = await thief.bearer('live')
  assert.equal((await harness.call('GET', '/api/agents/keys', { key })).status, 200)
  // What it cannot: anything that would outlast the session.
  const outlasting = [
    await thief.post('people', { email: 'thief@evil.example', role: 'owner' }),
    await thief.patch(`people/${personId}`, { role: 'viewer' }),
    await thief.remove(`people/${personId}`),
    await thief.post('passkeys/options'),
    await thief.post('passkeys/register', { credential: {} }),
    await thief.post('claim', { agentId: 'agt_none' }),
    await harness.call('POST', '/api/agents/keys', { key, body: { scopes: ['verify'] } }),
    await harness.call('POST', '/api/agents/keys/rotate', { key, body: {} }),
    await harness.call('POST', '/api/agents/credits/buy', { key, body: { pack: 'starter' } }),
  ]
  for (const answer of outlasting) assertRefusal(answer, 403, 'sign_in_again')
  const rows = endpoints.filter((row) => row.needsRecentSignIn)
  assert.deepEqual(rows.map((row) => row.publicId).toSorted(), [
    'agents.keys-create',
    'agents.keys-revoke',
    'agents.keys-rotate',
    'agents.profile-update',
    'webhooks.recover',
    'webhooks.register',
    'webhooks.rotate',
    'webhooks.update',
  ])
  for (const mode of modes)
    for (const row of rows) {
      const path = row.path.replaceAll(/\{\w+\}/g, 'none')
      const answer = await harness.call(row.method, path, { key: await thief.bearer(mode), body: {} })
      assertRefusal(answer, 403, 'sign_in_again')
    }
  // Its owner ends it from the list, or by signing out.
  const [session] = (await owner.get('sessions')).json.sessions
  assert.equal((await owner.remove(`sessions/${session.id}`)).status, 200)
  assertRefusal(await thief.get('account'), 401, 'sign_in_required')
  assertRefusal(await harness.call('GET', '/api/agents/keys', { key }), 401, 'invalid_api_key')
})
