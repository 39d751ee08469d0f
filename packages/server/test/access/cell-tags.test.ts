import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, test } from 'node:test'
import { cellOf, consoleCookie, operatorBrowserCookie, operatorCookie, tokenPrefixes } from '@pohf/protocol'
import { readVisitorToken } from '../../src/microtasks/token.ts'
import { hashKey } from '../../src/platform/ops/keys.ts'
import { startHarness, type TestResponse } from '../fixtures/harness.ts'
import { linkOf, startMailbox } from '../fixtures/mailbox.ts'
import { makePasskey, usePasskey } from '../fixtures/people/authenticator.ts'
import { linkTo, openConsole } from '../fixtures/people/console.ts'
import { enrolMember, invite, openBrowser, registerConfirmedAgent } from '../fixtures/people/member.ts'
import { makeSignedInOperator } from '../fixtures/people/operator-page.ts'
import { makeScoredSession } from '../fixtures/scored-session.ts'

const mailbox = await startMailbox()
after(() => mailbox.stop())
const cell = 'b7'
const harness = await startHarness({ CELL: cell, SMTP_URL: `smtp://127.0.0.1:${mailbox.smtpPort}` })
const live = await registerConfirmedAgent(harness, 'live', 'live@example.com')

/** Every token that this file got from the service, by its prefix. */
const seen = new Map<string, string>()
const noteToken = (text: string): string => {
  assert.equal(cellOf(text), cell, text)
  seen.set(Object.keys(tokenPrefixes).find((prefix) => text.startsWith(prefix)) ?? text, text)
  return text
}
const foreign = (token: string): string => {
  assert.ok(token.includes(cell), token)
  return token.replace(cell, 'zz')
}
const refusalOf = ({ status, json }: TestResponse) => [status, json.error]
const untagged = () => randomBytes(32).toString('base64url')

const address = 'mails@example.com'
/** The token of the newest mail to the address. */
const mailedToken = async (): Promise<string> => {
  await harness.runJobs()
  return noteToken(linkOf(mailbox.mails.findLast((mail) => mail.to.includes(address))).token)
}

test('mailed links carry the tag, and are unknown with that of another cell', async () => {
  const agent = await harness.register('live', address)
  const confirm = (token: string) => harness.call('POST', '/api/agents/email/confirm', { body: { token } })
  const token = await mailedToken()
  assert.deepEqual(refusalOf(await confirm(foreign(token))), [404, 'not_found'])
  assert.equal((await confirm(token)).status, 200)
  await harness.call('POST', '/api/agents/keys/recover', { body: { contactEmail: address } })
  const recovery = await mailedToken()
  const complete = (text: string) =>
    harness.call('POST', '/api/agents/keys/recover/complete', { body: { token: text } })
  assert.deepEqual(refusalOf(await complete(foreign(recovery))), [404, 'not_found'])
  const old = untagged()
  const insert = `insert into mail_tokens (token_hash, agent_id, purpose, expires_at)
    values ($1, $2, 'recover', pohf_now() + interval '1 hour')`
  await harness.owner.query(insert, [hashKey(old), agent.agentId])
  assert.equal((await complete(old)).status, 200, 'a link mailed before the tags')
  assert.equal((await complete(recovery)).status, 200)
})

test('the links, challenges, cookies and codes of a person carry the tag', async () => {
  const browser = openBrowser(harness)
  const { token } = await invite(harness, live.apiKey)
  noteToken(token)
  const page = (text: string) => harness.call('GET', `/m/${text}`)
  assert.equal((await page(token)).status, 200)
  assert.equal((await page(foreign(token))).status, 404)
  const { publicKey } = (await browser.post('passkey-options', { purpose: 'create', token })).json
  noteToken(publicKey.challenge)
  noteToken(publicKey.user.id)
  const passkey = makePasskey()
  const agreed = await browser.agree(token, passkey)
  assert.equal(agreed.status, 200, agreed.text)
  const [, login = ''] = browser.cookie()?.split('=') ?? []
  noteToken(login)
  const me = (text: string) =>
    harness.call('GET', '/api/members/me', { headers: { cookie: `__Host-pohf_me=${text}` } })
  assert.equal((await me(login)).status, 200)
  assert.deepEqual(refusalOf(await me(foreign(login))), [401, 'sign_in_required'])
  const [code = '', second = ''] = agreed.json.recoveryCodes
  assert.equal(cellOf(code), cell)
  const phone = openBrowser(harness)
  const signIn = (recoveryCode: string) => phone.post('sign-in', { recoveryCode })
  assert.equal((await signIn(foreign(code))).json.error, 'passkey_refused')
  assert.equal((await signIn(code)).status, 200)
  // A code written down before the tags: 16 letters, stored by the hash of its letters.
  await harness.owner.query('update person_recovery_codes set code_hash = $2 where code_hash = $1', [
    hashKey(second.replaceAll('-', '')),
    hashKey('23456789abcdefgh'),
  ])
  assert.equal((await signIn('2345-6789-ABCD-efgh')).status, 200)
  assert.equal((await signIn('2345-6789-ABCD-efgh')).json.error, 'passkey_refused')
})

test('a challenge with the tag of another cell signs nobody in', async () => {
  const { passkey } = await enrolMember(harness, live)
  const phone = openBrowser(harness)
  const challenge = (await phone.post('passkey-options', { purpose: 'sign_in' })).json.publicKey.challenge
  const rename = 'update passkey_challenges set challenge = $2 where challenge = $1'
  // Even one that stands in the table of this cell.
  const planted = foreign(challenge)
  await harness.owner.query(rename, [challenge, planted])
  const asserted = (text: string) => {
    const credential = usePasskey(passkey, { challenge: text, origin: phone.origin, flags: 5, counter: 0 })
    return phone.post('sign-in', { credential })
  }
  assert.equal((await asserted(planted)).json.error, 'passkey_refused')
  const { rowCount } = await harness.owner.query('select from passkey_challenges where challenge = $1', [
    planted,
  ])
  assert.equal(rowCount, 1, 'it was refused before it was looked up')
  const old = untagged()
  await harness.owner.query(rename, [planted, old])
  assert.equal((await asserted(old)).status, 200, 'a challenge from before the tags')
})

test('invitations and logins from before the tags work until they expire', async () => {
  const { token } = await invite(harness, live.apiKey)
  const link = untagged()
  await harness.owner.query('update enrolment_links set token_hash = $2 where token_hash = $1', [
    hashKey(token),
    hashKey(link),
  ])
  const browser = openBrowser(harness)
  assert.equal((await browser.agree(link, makePasskey())).status, 200)
  const [, login = ''] = browser.cookie()?.split('=') ?? []
  const cookie = untagged()
  await harness.owner.query('update person_logins set token_hash = $2 where token_hash = $1', [
    hashKey(login),
    hashKey(cookie),
  ])
  const headers = { cookie: `__Host-pohf_me=${cookie}`, origin: browser.origin }
  assert.equal((await harness.call('GET', '/api/members/me', { headers })).status, 200)
  const out = await harness.call('POST', '/api/members/sign-out', { headers, body: {} })
  assert.equal(out.status, 200, out.text)
  assert.equal((await harness.call('GET', '/api/members/me', { headers })).status, 401)
})

test('view, task and step-up tokens carry the tag, and are unknown with that of another cell', async () => {
  const session = await makeScoredSession(harness, live)
  noteToken(session.vt)
  const beacon = async (vt: string) =>
    (await harness.call('POST', '/api/track/event', { body: { vt, type: 'landed' } })).json.recorded
  assert.equal(await beacon(foreign(session.vt)), 0)
  assert.equal(await beacon(session.vt), 1)
  const { memberId } = await enrolMember(harness, live)
  const named = await harness.call('POST', '/api/agents/tasks/visitor', {
    key: live.apiKey,
    body: { memberId },
  })
  const visitor = noteToken(named.json.visitor)
  assert.equal(readVisitorToken(harness.ctx, visitor, { ...live, now: new Date() }), memberId)
  assert.equal(readVisitorToken(harness.ctx, foreign(visitor), { ...live, now: new Date() }), undefined)
  const next = await harness.call('GET', `/api/tasks/next?site=${live.agentId}`)
  const { token } = next.json.task
  noteToken(token)
  const complete = async (text: string) =>
    (await harness.call('POST', '/api/tasks/complete', { body: { token: text, answer: 'x' } })).json.reason
  assert.equal(await complete(foreign(token)), 'token_invalid')
  assert.notEqual(await complete(token), 'token_invalid')
  const asked = await harness.call('POST', '/api/agents/step-up', {
    key: live.apiKey,
    body: { subjectRef: session.sessionId },
  })
  assert.equal(asked.status, 200, asked.text)
  const path = new URL(asked.json.url).pathname
  noteToken(path.slice('/step-up/'.length))
  assert.equal((await harness.call('GET', path)).status, 200)
  assert.equal((await harness.call('GET', path.replace('stp_b7', 'stp_zz'))).status, 404)
})

test('the links, cookies and console tokens carry the tag, and are unknown with that of another cell', async () => {
  const browser = openConsole(harness)
  const email = 'owner@customer.example'
  assert.equal((await browser.post('sign-up', { name: 'Customer', email })).status, 202)
  noteToken(browser.browser() ?? '')
  const link = noteToken((await linkTo(harness, email)) ?? '')
  assert.deepEqual(refusalOf(await browser.post('link', { token: foreign(link) })), [404, 'not_found'])
  assert.equal((await browser.post('link', { token: link })).status, 200)
  const session = noteToken(browser.session() ?? '')
  const bearer = noteToken(await browser.bearer('test'))
  const profile = (key: string) => harness.call('GET', '/api/agents/me', { key })
  assert.equal((await profile(foreign(bearer))).status, 401)
  assert.equal((await profile(bearer)).status, 200)
  browser.cookies.set(consoleCookie, foreign(session))
  assert.equal((await browser.get('account')).status, 401)
})

test('the cookies and bearers of operators carry the tag, and are unknown with that of another cell', async () => {
  const { page, passkey } = await makeSignedInOperator(harness)
  const session = noteToken(page.session() ?? '')
  const bearer = noteToken(await page.bearer())
  const list = (key: string) => harness.callOperator('GET', '/operator/operators', { key })
  assert.equal((await list(foreign(bearer))).status, 401)
  assert.equal((await list(bearer)).status, 200)
  page.cookies.set(operatorCookie, foreign(session))
  assert.equal((await page.post('token', { active: true })).status, 401)
  const credential = await page.assert(passkey)
  const browser = noteToken(page.browser() ?? '')
  page.cookies.set(operatorBrowserCookie, foreign(browser))
  assert.equal((await page.post('passkey', { credential })).status, 400)
  page.cookies.set(operatorBrowserCookie, browser)
  assert.equal((await page.post('passkey', { credential })).status, 200)
})

const listSessions = (query = '') =>
  harness.call('GET', `/api/agents/sessions?limit=1${query}`, { key: live.apiKey })

test('cursors of lists carry the tag, and are unknown with that of another cell', async () => {
  for (let n = 0; n < 2; n += 1) await makeScoredSession(harness, live)
  const cursor = noteToken((await listSessions()).json.nextCursor)
  assert.equal((await listSessions(`&cursor=${foreign(cursor)}`)).status, 400)
  assert.equal((await listSessions(`&cursor=${cursor}`)).status, 200)
})

test('this file saw a token of every kind', () => {
  assert.deepEqual([...seen.keys()].toSorted(), Object.keys(tokenPrefixes).toSorted())
})
