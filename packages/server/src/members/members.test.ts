import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inTransaction } from '../platform/db/db.ts'
import { startHarness } from '../../test/fixtures/harness.ts'
import {
  proveAttention,
  enrolMember,
  invite,
  openBrowser,
  registerConfirmedAgent,
} from '../../test/fixtures/people/member.ts'
import { createPasskey, makePasskey } from '../../test/fixtures/people/authenticator.ts'
import { playSession } from '../../test/fixtures/people/play-session.ts'
import { assertRefusal } from '../../test/fixtures/refusal.ts'
import { consentVersion } from './rules.ts'

const harness = await startHarness()
const live = await registerConfirmedAgent(harness, 'live', 'one@example.com')

const personhood = (memberId: string, key = live.apiKey) =>
  harness.call('POST', '/api/agents/verify-personhood', { key, body: { memberId } })
const claimsOf = (jwt: string) => JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString())

test('a person enrols by consent, passkey and attention check, and then has a personhood credential', async () => {
  const browser = openBrowser(harness)
  const { memberId, token, enrolUrl } = await invite(harness, live.apiKey, 'customer-1')
  assert.ok(enrolUrl.startsWith('http://localhost:'), 'passkeys need a name, not an address')
  assertRefusal(await personhood(memberId), 409, 'member_not_enrolled')

  const agreed = await browser.agree(token, makePasskey())
  assert.equal(agreed.status, 200, agreed.text)
  assert.equal(agreed.json.status, 'consented')
  assert.equal(agreed.json.recoveryCodes.length, 8)
  assert.match(
    String(agreed.headers['set-cookie']),
    /^__Host-pohf_me=lgn_aa[\w-]{42}; Path=\/; Max-Age=\d+; Secure; HttpOnly; SameSite=Strict$/,
  )
  const waiting = await personhood(memberId)
  assertRefusal(waiting, 409, 'member_not_enrolled')
  assert.equal(waiting.json.details[0].code, 'consented')

  const { answer } = await proveAttention(harness, browser, { token, ...agreed.json })
  assert.equal(answer.status, 200, answer.text)
  assert.deepEqual([answer.json.status, answer.json.uniqueness], ['enrolled', 'device'])

  const minted = await personhood(memberId)
  assert.equal(minted.status, 200, minted.text)
  const { assurance, uniqueness, methods, quality } = minted.json
  assert.deepEqual(
    { assurance, uniqueness, methods, quality },
    {
      assurance: 'low',
      uniqueness: 'device',
      methods: ['passkey', 'attention'],
      quality: answer.json.quality,
    },
  )
  assert.equal(minted.headers['x-sandbox'], undefined)
  const claims = claimsOf(minted.json.pohf_jwt)
  assert.deepEqual([claims.device.method, claims.device.assurance], ['webauthn', 'software'])
  assert.ok(claims.personhood.checked_at <= claims.iat)

  const { json: seen } = await harness.call('GET', `/api/agents/members/${memberId}`, { key: live.apiKey })
  assert.deepEqual([seen.status, seen.externalRef, seen.uniqueness], ['enrolled', 'customer-1', 'device'])
  const { rows } = await harness.owner.query(
    "select data from events where agent_id = $1 and type = 'member.enrolled'",
    [live.agentId],
  )
  assert.deepEqual(rows, [{ data: { memberId, uniqueness: 'device' } }])
})

test('the same reference is the same member, and members are listed page by page', async () => {
  const first = await invite(harness, live.apiKey, 'twice')
  const second = await invite(harness, live.apiKey, 'twice')
  assert.equal(first.memberId, second.memberId)
  assert.notEqual(first.token, second.token)
  await invite(harness, live.apiKey)
  const seen: string[] = []
  let after: string | null = ''
  while (after !== null) {
    const { json }: { json: { members: { memberId: string }[]; nextCursor: string | null } } =
      await harness.call('GET', `/api/agents/members?limit=1${after ? `&after=${after}` : ''}`, {
        key: live.apiKey,
      })
    seen.push(...json.members.map((one) => one.memberId))
    after = json.nextCursor
  }
  assert.equal(new Set(seen).size, seen.length)
  assert.ok(seen.length >= 3 && seen.includes(first.memberId))
})

test('one person is one member of an agent; another person cannot take over a membership', async () => {
  const { browser, token } = await enrolMember(harness, live)
  const again = await invite(harness, live.apiKey)
  const answer = await browser.post('enrol', {
    token: again.token,
    consentVersion,
    language: 'en',
  })
  assertRefusal(answer, 409, 'member_not_enrolled')
  assert.equal(answer.json.details[0].code, 'duplicate')
  const stranger = await openBrowser(harness).agree(token, makePasskey())
  assertRefusal(stranger, 409, 'member_not_enrolled')
})

test('a person without a passkey can sign in by a recovery code, which works once', async () => {
  const { browser, recoveryCodes } = await enrolMember(harness, live)
  const [code = ''] = recoveryCodes
  browser.forget()
  assertRefusal(await browser.post('sign-in', { recoveryCode: 'aaaa-bbbb' }), 400, 'passkey_refused')
  assert.equal((await browser.post('sign-in', { recoveryCode: ` ${code.toUpperCase()}` })).status, 200)
  assertRefusal(await browser.post('sign-in', { recoveryCode: code }), 400, 'passkey_refused')
  const { rows } = await harness.owner.query(
    'select 1 from person_recovery_codes where code_hash::text like $1',
    [`%${code}%`],
  )
  assert.equal(rows.length, 0)
})

test('signing in requires user verification, a fresh challenge and an increasing counter', async () => {
  const { browser, passkey } = await enrolMember(harness, live)
  browser.forget()
  assertRefusal(await browser.signIn(passkey, 1), 400, 'passkey_refused')
  assert.equal((await browser.signIn(passkey, 5, 7)).status, 200)
  assertRefusal(await browser.signIn(passkey, 5, 7), 400, 'passkey_refused')
  assertRefusal(await browser.signIn(makePasskey()), 400, 'passkey_refused')
  assert.equal((await browser.post('sign-out', {})).json.signedIn, false)
  const { token } = await invite(harness, live.apiKey)
  assertRefusal(
    await browser.post('enrol', { token, consentVersion, language: 'en' }),
    401,
    'sign_in_required',
  )
})

test('enrolment refuses a passkey without user verification, of another link, or with a used challenge', async () => {
  const browser = openBrowser(harness)
  const { token } = await invite(harness, live.apiKey)
  assertRefusal(await browser.agree(token, makePasskey(), { fmt: 'none' }, 1), 400, 'passkey_refused')
  const other = await invite(harness, live.apiKey)
  const options = await browser.post('passkey-options', { purpose: 'create', token: other.token })
  assert.equal(options.status, 200)
  const { challenge } = options.json.publicKey
  const credential = createPasskey(makePasskey(), { challenge, origin: browser.origin }, { fmt: 'none' })
  const body = { token, consentVersion, language: 'en', credential }
  assertRefusal(await browser.post('enrol', body), 400, 'passkey_refused')
  assert.equal((await browser.post('enrol', { ...body, token: other.token })).status, 200)
  const replayed = await openBrowser(harness).post('enrol', { ...body, token: other.token })
  assertRefusal(replayed, 400, 'passkey_refused')
  assertRefusal(await browser.post('enrol', { ...body, consentVersion: '2020-01' }), 400, 'validation_failed')
})

test('a page of another origin changes nothing, whatever cookie it sends', async () => {
  const { browser, token, sessionId } = await enrolMember(harness, live)
  const bodies = {
    'passkey-options': { purpose: 'create', token },
    enrol: { token, consentVersion, language: 'en' },
    attention: { token, sessionId },
    'sign-in': { recoveryCode: 'x' },
    'sign-out': {},
  }
  for (const [path, body] of Object.entries(bodies))
    for (const origin of ['https://evil.example', 'http://127.0.0.1:3000', 'null'])
      assertRefusal(await browser.post(path, body, origin), 403, 'forbidden')
})

test('an attention check counts once, for its own invitation, and only if it shows a human', async () => {
  const browser = openBrowser(harness)
  const { memberId, token } = await invite(harness, live.apiKey)
  const { site, challenge } = (await browser.agree(token, makePasskey())).json
  const elsewhere = await playSession(harness, { site, challenge: 'something else' })
  assertRefusal(await browser.post('attention', { token, sessionId: elsewhere.sessionId }), 404, 'not_found')
  const bot = await playSession(harness, { site, challenge, webdriver: true })
  const refused = await browser.post('attention', { token, sessionId: bot.sessionId })
  assertRefusal(refused, 409, 'session_rejected')
  assert.ok(refused.json.details.some((one: { code: string }) => one.code.startsWith('flag_')))
  assert.equal((await personhood(memberId)).status, 409)
  const { sessionId, answer } = await proveAttention(harness, browser, { token, site, challenge })
  assert.equal(answer.status, 200)
  const again = await browser.post('attention', { token, sessionId })
  assert.equal(again.json.details[0].code, 'session_used')
  const { rows } = await harness.owner.query(
    'select good_checks, bad_checks from members where member_id = $1',
    [memberId],
  )
  assert.deepEqual(rows, [{ good_checks: 1, bad_checks: 1 }])
})

test('links expire after a week, challenges after five minutes, a check after 180 days', async () => {
  const { memberId, browser } = await enrolMember(harness, live, { externalRef: 'ages' })
  const unused = await invite(harness, live.apiKey)
  const { challenge } = (await browser.post('passkey-options', { purpose: 'sign_in' })).json.publicKey
  assert.equal(typeof challenge, 'string')
  await harness.advance(6 * 60_000)
  await harness.runJobs()
  const { rows } = await harness.owner.query(
    'select count(*)::int as n from passkey_challenges where challenge = $1 and expires_at > pohf_now()',
    [challenge],
  )
  assert.deepEqual(rows, [{ n: 0 }])
  await harness.advance(8 * 86_400_000)
  const late = await openBrowser(harness).post('passkey-options', { purpose: 'create', token: unused.token })
  assertRefusal(late, 404, 'not_found')
  assert.equal((await harness.call('GET', `/m/${unused.token}`)).status, 404)
  await harness.advance(180 * 86_400_000)
  const old = await personhood(memberId)
  assertRefusal(old, 409, 'member_not_enrolled')
  assert.equal(old.json.details[0].code, 'attention_too_old')
})

test("no agent's transaction reads a person, and another agent's member does not exist", async () => {
  const { memberId } = await enrolMember(harness, live)
  const hidden = [
    'people',
    'person_passkeys',
    'person_logins',
    'person_recovery_codes',
    'person_proofs',
    'passkey_challenges',
    'consents',
    'nullifiers',
  ] as const
  for (const table of hidden) {
    const seen = await inTransaction(harness.ctx, live.agentId, (tx) =>
      tx
        .selectFrom(table)
        .select(({ fn }) => fn.countAll<bigint>().as('n'))
        .executeTakeFirstOrThrow(),
    )
    assert.equal(seen.n, 0n, table)
  }
  const other = await registerConfirmedAgent(harness, 'live', 'other@example.com')
  const foreign = await harness.call('GET', `/api/agents/members/${memberId}`, { key: other.apiKey })
  assertRefusal(foreign, 404, 'not_found')
  assertRefusal(await personhood(memberId, other.apiKey), 404, 'not_found')
})

test('a human does a one-per-human action once at each agent, in a hundred concurrent calls, and the nullifiers are unlinkable', async () => {
  const { memberId, browser } = await enrolMember(harness, live)
  const act = (action: string, by: string, key = live.apiKey) =>
    harness.call('POST', `/api/agents/members/${by}/acts`, { key, body: { action } })
  const answers = await Promise.all(Array.from({ length: 100 }, () => act('vote', memberId)))
  assert.equal(answers.filter(({ json }) => json.first === true).length, 1)
  assert.equal(new Set(answers.map(({ json }) => json.nullifier)).size, 1)
  const elsewhere = await registerConfirmedAgent(harness, 'live', 'elsewhere@example.com')
  const there = await enrolMember(harness, elsewhere, { browser })
  const theirs = (await act('vote', there.memberId, elsewhere.apiKey)).json
  assert.equal(theirs.first, true)
  assert.notEqual(theirs.nullifier, answers[0]?.json.nullifier)
  assert.notEqual((await act('gift', memberId)).json.nullifier, answers[0]?.json.nullifier)
  assertRefusal(await act('vote', there.memberId), 404, 'not_found')
  const waiting = await invite(harness, live.apiKey)
  assertRefusal(await act('vote', waiting.memberId), 409, 'member_not_enrolled')
})
