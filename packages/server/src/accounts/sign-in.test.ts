import assert from 'node:assert/strict'
import { test } from 'node:test'
import { consoleBrowserCookie, consoleCookie } from '@pohf/protocol'
import { startHarness } from '../../test/fixtures/harness.ts'
import { createPasskey, makePasskey, usePasskey } from '../../test/fixtures/people/authenticator.ts'
import { enter, linkTo, mailsTo, makeAccount, openConsole } from '../../test/fixtures/people/console.ts'
import { assertRefusal } from '../../test/fixtures/refusal.ts'
import { makeToken } from '../platform/ops/tokens.ts'

const harness = await startHarness()
const minute = 60_000

test('a sign-up leads by a mailed link to an account with an owner, a live and a test agent', async () => {
  const browser = openConsole(harness)
  const email = 'Ada@Example.com'
  const asked = await browser.post('sign-up', { name: 'Ada Ltd', email })
  assert.equal(asked.status, 202)
  const { rows: before } = await harness.owner.query('select from account_people')
  assert.equal(before.length, 0, 'somebody else could have typed the address')
  assert.deepEqual((await browser.post('link', { token: await linkTo(harness, 'ada@example.com') })).json, {
    signedIn: true,
  })
  const { json } = await browser.get('account')
  assert.equal(json.account.name, 'Ada Ltd')
  assert.deepEqual([json.person.email, json.person.role], ['ada@example.com', 'owner'])
  const key = await browser.bearer('live')
  const profile = await harness.call('GET', '/api/agents/me', { key })
  assert.equal(profile.json.agentId, json.agents.live.id)
  assert.equal(profile.json.mode, 'live')
  assert.notEqual(profile.json.emailConfirmedAt, null)
  const sandbox = await harness.call('GET', '/api/agents/me', { key: await browser.bearer('test') })
  assert.equal(sandbox.json.agentId, json.agents.test.id)
})

test('the cookies carry the prefix, are Secure, HttpOnly and SameSite=Strict, and the page is still served', async () => {
  const browser = openConsole(harness)
  const asked = await browser.post('sign-up', { name: 'Cookies', email: 'cookies@example.com' })
  assert.match(
    String(asked.headers['set-cookie']),
    new RegExp(
      `^${consoleBrowserCookie}=brw_aa\\S{42}; Path=/; Max-Age=900; Secure; HttpOnly; SameSite=Strict$`,
    ),
  )
  const entered = await browser.post('link', { token: await linkTo(harness, 'cookies@example.com') })
  assert.match(
    String(entered.headers['set-cookie']),
    new RegExp(`^${consoleCookie}=cso_aa\\S{42}; Path=/; Max-Age=86400; Secure; HttpOnly; SameSite=Strict$`),
  )
  const out = await browser.post('sign-out')
  assert.match(String(out.headers['set-cookie']), new RegExp(`^${consoleCookie}=; Path=/; Max-Age=0;`))
  const page = await harness.call('GET', '/console')
  assert.match(page.headers['content-type'] ?? '', /^text\/html/)
})

test('session fixation fails: each sign-in makes a new cookie and ends the old session', async () => {
  const attacker = (await makeAccount(harness)).owner
  const attackerCookie = attacker.session() ?? ''
  const victim = openConsole(harness)
  victim.cookies.set(consoleCookie, attackerCookie)
  await enter(harness, victim, 'fixated@example.com', 'Fixated')
  assert.notEqual(victim.session(), attackerCookie)
  assertRefusal(await attacker.get('account'), 401, 'sign_in_required')
  // Neither is a well-formed cookie that nobody has yet.
  const planted = makeToken(harness.ctx.ids, 'cso_')
  const second = openConsole(harness)
  second.cookies.set(consoleCookie, planted)
  await enter(harness, second, 'fixated@example.com')
  assert.notEqual(second.session(), planted)
  const holder = openConsole(harness)
  holder.cookies.set(consoleCookie, planted)
  assertRefusal(await holder.get('account'), 401, 'sign_in_required')
})

test('a cookie of a browser that somebody prepared binds no link', async () => {
  const prepared = makeToken(harness.ctx.ids, 'brw_')
  const victim = openConsole(harness)
  victim.cookies.set(consoleBrowserCookie, prepared)
  await victim.post('sign-up', { name: 'Prepared', email: 'prepared@example.com' })
  assert.notEqual(victim.browser(), prepared)
  const attacker = openConsole(harness)
  attacker.cookies.set(consoleBrowserCookie, prepared)
  const token = await linkTo(harness, 'prepared@example.com')
  assertRefusal(await attacker.post('link', { token }), 403, 'other_browser')
})

test('a link works once, also for calls at the same time, and not after 15 minutes', async () => {
  const browser = openConsole(harness)
  const email = 'once@example.com'
  await browser.post('sign-up', { name: 'Once', email })
  const token = await linkTo(harness, email)
  const answers = await Promise.all(Array.from({ length: 5 }, () => browser.post('link', { token })))
  assert.equal(answers.filter(({ status }) => status === 200).length, 1)
  assert.equal(answers.filter(({ status }) => status === 404).length, 4)
  assertRefusal(await browser.post('link', { token }), 404, 'not_found')
  const { rows } = await harness.owner.query('select from account_people where email = $1', [email])
  assert.equal(rows.length, 1)
  await browser.post('sign-in', { email })
  const late = await linkTo(harness, email)
  await harness.advance(15 * minute + 1_000)
  assertRefusal(await browser.post('link', { token: late }), 404, 'not_found')
})

test('a link in another browser is refused, and goes on working in the one that asked', async () => {
  const asking = openConsole(harness)
  const email = 'two-browsers@example.com'
  await asking.post('sign-up', { name: 'Two', email })
  const token = await linkTo(harness, email)
  const without = openConsole(harness)
  assertRefusal(await without.post('link', { token }), 403, 'other_browser')
  const other = openConsole(harness)
  await other.post('sign-in', { email: 'somebody-else@example.com' })
  assertRefusal(await other.post('link', { token }), 403, 'other_browser')
  assert.equal(other.session(), undefined)
  assert.equal((await asking.post('link', { token })).status, 200)
})

test('the links of two sign-ups of one address make one person and one account', async () => {
  const email = 'twice@example.com'
  const first = openConsole(harness)
  const second = openConsole(harness)
  await first.post('sign-up', { name: 'First', email })
  const firstToken = await linkTo(harness, email)
  await second.post('sign-up', { name: 'Second', email })
  const secondToken = await linkTo(harness, email)
  const answers = await Promise.all([
    first.post('link', { token: firstToken }),
    second.post('link', { token: secondToken }),
  ])
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200],
  )
  const accounts = await Promise.all([first.get('account'), second.get('account')])
  assert.equal(accounts[0]?.json.account.id, accounts[1]?.json.account.id)
})

test('a passkey signs in; its assertion works once, and neither an unknown nor a removed passkey does', async () => {
  const { owner, email, accountId } = await makeAccount(harness)
  const passkey = makePasskey()
  assert.equal((await owner.addPasskey(passkey)).status, 200)
  assert.match((await mailsTo(harness, email)).at(-1)?.text ?? '', /A passkey was added/)
  const browser = openConsole(harness)
  assert.equal((await browser.usePasskey(passkey)).status, 200)
  assert.equal((await browser.get('account')).json.account.id, accountId)
  assert.equal((await browser.get('sessions')).json.sessions[0].signedInBy, 'passkey')
  const { challenge } = (await browser.post('passkeys/sign-in-options')).json.publicKey
  const credential = usePasskey(passkey, { challenge, origin: browser.origin })
  assert.equal((await browser.post('passkeys/sign-in', { credential })).status, 200)
  assertRefusal(await openConsole(harness).post('passkeys/sign-in', { credential }), 400, 'passkey_refused')
  assertRefusal(await openConsole(harness).usePasskey(makePasskey()), 400, 'passkey_refused')
  const [listed] = (await owner.get('passkeys')).json.passkeys
  assert.equal(listed.name, 'Laptop')
  assert.equal((await owner.remove(`passkeys/${listed.id}`)).status, 200)
  assertRefusal(await browser.get('account'), 401, 'sign_in_required')
  assertRefusal(await openConsole(harness).usePasskey(passkey), 400, 'passkey_refused')
})

test('a challenge for one person adds no passkey to another, and a challenge of a sign-in adds none', async () => {
  const first = await makeAccount(harness)
  const second = await makeAccount(harness)
  const { origin } = first.owner
  const credentialFor = (challenge: string) =>
    createPasskey(makePasskey(), { challenge, origin }, { fmt: 'none' })
  const own = (await first.owner.post('passkeys/options')).json.publicKey.challenge
  const foreign = await second.owner.post('passkeys/register', { credential: credentialFor(own) })
  assertRefusal(foreign, 400, 'passkey_refused')
  const anybody = (await second.owner.post('passkeys/sign-in-options')).json.publicKey.challenge
  const mixed = await second.owner.post('passkeys/register', { credential: credentialFor(anybody) })
  assertRefusal(mixed, 400, 'passkey_refused')
})

test('a session ends after 4 hours without use, and after 24 hours in any case', async () => {
  const idle = await makeAccount(harness)
  await harness.advance(4 * 60 * minute + 1_000)
  assertRefusal(await idle.owner.get('account'), 401, 'sign_in_required')
  const busy = await makeAccount(harness)
  for (let hour = 3; hour < 24; hour += 3) {
    await harness.advance(3 * 60 * minute)
    assert.equal((await busy.owner.get('account')).status, 200, `after ${hour} hours`)
  }
  await harness.advance(3 * 60 * minute + 1_000)
  assertRefusal(await busy.owner.get('account'), 401, 'sign_in_required')
})

test('sign-out ends the session and its bearers, and a person ends any of their sessions', async () => {
  const { owner, email } = await makeAccount(harness)
  const other = openConsole(harness, 'Mozilla/5.0 (Windows NT 10.0) Chrome/130.0 Safari/537.36')
  await enter(harness, other, email)
  const key = await other.bearer('live')
  assert.equal((await harness.call('GET', '/api/agents/me', { key })).status, 200)
  const { sessions } = (await owner.get('sessions')).json
  assert.deepEqual(
    sessions.map(({ browser, isThis }: { browser: string; isThis: boolean }) => [browser, isThis]),
    [
      ['Chrome on Windows', false],
      ['Firefox on Linux', true],
    ],
  )
  assert.equal((await owner.remove(`sessions/${sessions[0].id}`)).status, 200)
  assertRefusal(await other.get('account'), 401, 'sign_in_required')
  assertRefusal(await harness.call('GET', '/api/agents/me', { key }), 401, 'invalid_api_key')
  const own = await owner.bearer('test')
  await owner.post('sign-out')
  assertRefusal(await harness.call('GET', '/api/agents/me', { key: own }), 401, 'invalid_api_key')
  const stranger = await makeAccount(harness)
  const [{ id }] = (await stranger.owner.get('sessions')).json.sessions
  await enter(harness, owner, email)
  assertRefusal(await owner.remove(`sessions/${id}`), 404, 'not_found')
})

test('a person has 20 sessions at most: the oldest ends', async () => {
  const { owner } = await makeAccount(harness)
  const passkey = makePasskey()
  await owner.addPasskey(passkey)
  for (let n = 0; n < 20; n++) assert.equal((await openConsole(harness).usePasskey(passkey)).status, 200)
  assertRefusal(await owner.get('account'), 401, 'sign_in_required')
  const last = openConsole(harness)
  await last.usePasskey(passkey)
  assert.equal((await last.get('sessions')).json.sessions.length, 20)
})
