import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { makeAttestedModel } from '../../../test/fixtures/people/attested-model.ts'
import {
  createPasskey,
  makePasskey,
  usePasskey,
  type AttestationFormat,
  type Passkey,
} from '../../../test/fixtures/people/authenticator.ts'
import { enrolMember, registerConfirmedAgent } from '../../../test/fixtures/people/member.ts'
import { makeOffice } from '../../../test/fixtures/people/outside-proof.ts'
import { playSession } from '../../../test/fixtures/people/play-session.ts'
import { assertRefusal } from '../../../test/fixtures/refusal.ts'
import { originOf } from '../../members/index.ts'
import { stepUpWays } from './step-up-token.ts'

const model = await makeAttestedModel()
after(() => model.close())
const harness = await startHarness(model.settings)
const live = await registerConfirmedAgent(harness, 'live', 'shop@example.com')
const { origin } = originOf(harness.ctx.config)
const attested: AttestationFormat = { fmt: 'packed', batch: model.batch }

const call = (path: string, body: object) =>
  harness.call('POST', `/api/agents/${path}`, { key: live.apiKey, body })
const onPage = (path: string, body: object, from = origin) =>
  harness.call('POST', `/api/step-up${path}`, { body, headers: { origin: from } })
const tokenFor = async (subjectRef: string): Promise<string> => {
  const { json, text } = await call('step-up', { subjectRef })
  const [, token] = /^http:\/\/localhost(?::\d+)?\/step-up\/(.+)$/.exec(json.url) ?? []
  assert.ok(token, text)
  return token
}
const newSession = async (): Promise<string> => (await playSession(harness, { site: live.agentId })).sessionId
const levelOf = async (sessionId: string) => (await call('verify', { sessionId })).json.assurance

/** What the page does: asks for options, lets the authenticator answer, and sends the answer. */
const stepUp = async (
  token: string,
  passkey: Passkey,
  {
    keyId,
    vouching = attested,
    flags = 5,
  }: { keyId?: string; vouching?: AttestationFormat; flags?: number } = {},
) => {
  const { json: options, text } = await onPage('/options', { token, keyId })
  assert.ok(options.nonce, text)
  const { challenge } = options.use ?? options.create
  const signed = { challenge, origin, flags, aaguid: model.aaguid }
  const credential = options.use ? usePasskey(passkey, signed) : createPasskey(passkey, signed, vouching)
  const answer = await onPage('', { token, nonce: options.nonce, credential })
  return { used: options.use !== undefined, answer }
}

test('a person steps up for a session with an attested key, and uses the same key for the next one', async () => {
  const passkey = makePasskey()
  const [first, second] = [await newSession(), await newSession()]
  const made = await stepUp(await tokenFor(first), passkey)
  assert.deepEqual([made.used, made.answer.json], [false, { attested: true }])
  assert.equal(await levelOf(first), 'substantial')
  const again = await stepUp(await tokenFor(second), passkey, { keyId: passkey.id.toString('base64url') })
  assert.deepEqual([again.used, again.answer.json], [true, { attested: true }])
  assert.equal(await levelOf(second), 'substantial')
  const { rows } = await harness.owner.query(
    "select count(*)::int as n from device_keys where subject_ref = 'step-up'",
  )
  assert.deepEqual(rows, [{ n: 1 }])
  await harness.advance(91 * 86_400_000)
  await harness.runJobs()
  const left = await harness.owner.query("select from device_keys where subject_ref = 'step-up'")
  assert.equal(left.rows.length, 0, 'a key that nobody used for 90 days is deleted')
})

const countKeys = async (): Promise<number | undefined> =>
  (await harness.owner.query<{ n: number }>('select count(*)::int as n from device_keys')).rows[0]?.n

test('a passkey in software, a synced one, and one without user verification are refused with the reason', async () => {
  const sessionId = await newSession()
  const token = await tokenFor(sessionId)
  const before = await countKeys()
  const unproven = { attested: false, reason: 'device_unproven' }
  assert.deepEqual((await stepUp(token, makePasskey(), { vouching: { fmt: 'none' } })).answer.json, unproven)
  assert.deepEqual((await stepUp(token, makePasskey(), { flags: 5 | 8 })).answer.json, unproven)
  assert.deepEqual((await stepUp(token, makePasskey(), { flags: 1 })).answer.json, {
    attested: false,
    reason: 'passkey_refused',
  })
  assert.equal(await levelOf(sessionId), 'low')
  assert.equal(await countKeys(), before, 'a key that cannot be a root is not stored')
})

test('where custom roots are not fully trusted, no key is stored', async () => {
  const capped = await startHarness({ ...model.settings, ATTEST_ALLOW_CUSTOM_ROOTS: 'off' })
  const agent = await registerConfirmedAgent(capped, 'live', 'shop@example.com')
  const { sessionId } = await playSession(capped, { site: agent.agentId })
  const [way] = stepUpWays(
    capped.ctx,
    { agentId: agent.agentId, mode: 'live', subjectRef: sessionId },
    capped.ctx.clock.now(),
  )
  const token = way?.url?.split('/step-up/')[1]
  const send = (path: string, body: object) =>
    capped.call('POST', `/api/step-up${path}`, { body: { token, ...body }, headers: { origin } })
  const { nonce, create } = (await send('/options', {})).json
  const signed = { challenge: create.challenge, origin, aaguid: model.aaguid }
  const answer = await send('', { nonce, credential: createPasskey(makePasskey(), signed, attested) })
  assert.deepEqual(answer.json, { attested: false, reason: 'device_unproven' })
  assert.equal((await capped.owner.query('select from device_keys')).rows.length, 0)
})

test('a link is for one session or member of one agent, for a day, and only for our own page', async () => {
  const { memberId } = await enrolMember(harness, live)
  const sessionId = await newSession()
  const [ofMember, ofSession] = [await tokenFor(memberId), await tokenFor(sessionId)]
  const asked = (await onPage('/options', { token: ofSession })).json
  const credential = createPasskey(
    makePasskey(),
    { challenge: asked.create.challenge, origin, aaguid: model.aaguid },
    attested,
  )
  const moved = await onPage('', { token: ofMember, nonce: asked.nonce, credential })
  assert.deepEqual(moved.json, { attested: false, reason: 'challenge_mismatch' })
  assertRefusal(await onPage('', { token: ofSession, nonce: asked.nonce, credential }), 409, 'nonce_used')
  assertRefusal(await onPage('/options', { token: ofSession }, 'https://evil.example'), 403, 'forbidden')
  assertRefusal(await onPage('/options', { token: `x${ofSession}` }), 404, 'not_found')
  assertRefusal(await onPage('/options', { token: await tokenFor('nobody') }), 404, 'not_found')

  await stepUp(ofMember, makePasskey())
  const minted = await call('verify-personhood', { memberId })
  assert.equal(minted.json.assurance, 'substantial')
  await harness.advance(24 * 3_600_000 + 1_000)
  assertRefusal(await onPage('/options', { token: ofSession }), 404, 'not_found')
  const page = await harness.call('GET', `/step-up/${ofSession}?lang=de`)
  assert.deepEqual([page.status, /gilt nicht mehr/.test(page.text)], [404, true])
})

test('the ways to step up name the page; the sandbox has none', () => {
  const { ctx } = harness
  const subject = { agentId: live.agentId, mode: 'live', subjectRef: 'ses_1' } as const
  const [way, ...more] = stepUpWays(ctx, subject, ctx.clock.now())
  assert.equal(way?.kind, 'authenticator')
  assert.match(way?.url ?? '', /\/step-up\/[\w-]+\.[\w-]{22}$/)
  assert.deepEqual(more, [])
  assert.deepEqual(stepUpWays(ctx, { ...subject, mode: 'test' }, ctx.clock.now()), [])
})

test('a member can sign in with a company on the page, a session without a member cannot', async () => {
  const company = await startHarness({}, [makeOffice({ issuerId: 'https://login.acme.example' })])
  const agent = await registerConfirmedAgent(company, 'live', 'company@example.com')
  const { memberId } = await enrolMember(company, agent)
  const { sessionId } = await playSession(company, { site: agent.agentId })
  const pageOf = async (subjectRef: string, lang: string): Promise<string> => {
    const link = await company.call('POST', '/api/agents/step-up', {
      key: agent.apiKey,
      body: { subjectRef },
    })
    const [, token = ''] = String(link.json.url).split('/step-up/')
    return (await company.call('GET', `/step-up/${token}?lang=${lang}`)).text
  }
  const english = await pageOf(memberId, 'en')
  assert.match(english, new RegExp(`data-issuer="office"\\s+data-member="${memberId}"`))
  assert.match(english, /login\.acme\.example learns that you signed in/)
  assert.match(await pageOf(memberId, 'de'), /Mit Ihrer Firma anmelden/)
  assert.ok(!(await pageOf(sessionId, 'en')).includes('data-issuer'))
})
