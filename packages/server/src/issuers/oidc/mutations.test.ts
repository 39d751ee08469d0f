import assert from 'node:assert/strict'
import { createHmac, createPublicKey } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { startHarness, type TestResponse } from '../../../test/fixtures/harness.ts'
import { companyClient, withParts, type Lie } from '../../../test/fixtures/people/company.ts'
import {
  beginSignIn,
  entryOf,
  openCompany,
  signInWithCompany,
  writeIssuersFile,
} from '../../../test/fixtures/people/company-issuer.ts'
import { measureCheck } from '../../../test/fixtures/people/issuer-cpu.ts'
import { enrolMember, registerConfirmedAgent } from '../../../test/fixtures/people/member.ts'
import * as operators from '../../operators/index.ts'
import { finishCheck, makeIssuers } from '../index.ts'

const company = await openCompany()
/** A check that is left out, for the battery: it must see that a change gets through. */
const planted = process.env['POHF_ISSUER_FAULT']
const checks = {
  tenant: { tenant: 'tenant-1', subjectClaim: 'oid' },
  admit: { admit: { acr: ['phr'], amr: [['hwk'], ['otp', 'pwd']] } },
}
const harness = await startHarness({
  ISSUERS_FILE: writeIssuersFile([
    entryOf(company, {
      ...(planted === 'tenant' ? {} : checks.tenant),
      ...(planted === 'admit' ? {} : checks.admit),
    }),
    entryOf(company, { name: 'closed', tenant: 'tenant-1' }),
  ]),
})
const live = await registerConfirmedAgent(harness, 'live', 'mutations@example.com')
const operator = await operators.create(harness.ctx, 'machine', 'Ada')
const person = await enrolMember(harness, live)
const other = await enrolMember(harness, live)
const { browser } = person
const sub = 'employee-1'

const seconds = () => Math.floor(Date.now() / 1_000)
const ruleOf = ({ status, json }: TestResponse): string =>
  status === 200 ? 'shown' : (json.details?.[0]?.code ?? json.error)
type Answer = Record<string, string>
const finish = (state: string, answer: unknown, who = browser) =>
  who.post('me/proofs/finish', { state, answer })

/** A sign-in of which the company says something else. */
const lying = (lie: Lie) => async (): Promise<TestResponse> => {
  const { request, state } = await beginSignIn(browser)
  return finish(state, company.signIn(request.url, sub, lie))
}
const claiming = (claims: Readonly<Record<string, unknown>>) => lying({ claims })

/** An honest sign-in whose answer is changed on its way back. */
const answering = (change: (answer: Answer) => unknown) => async (): Promise<TestResponse> => {
  const { request, state } = await beginSignIn(browser)
  return finish(state, change(company.signIn(request.url, sub)))
}
const without = (name: string) => (answer: Answer) =>
  Object.fromEntries(Object.entries(answer).filter(([key]) => key !== name))

/** The parts of a token with a MAC over a key that is no secret of the company, or one that it shares. */
const withMac = (key: string | Buffer) => (honest: string) => {
  const changed = withParts({ alg: 'HS256', kid: 'company' }, (claims) => claims, '')(honest)
  const signed = changed.slice(0, -1)
  return `${signed}.${createHmac('sha256', key).update(signed).digest('base64url')}`
}
const publicKeyOf = async (): Promise<string> => {
  const { keys } = (await (await fetch(`${company.issuer}/jwks`)).json()) as { keys: [object] }
  return createPublicKey({ key: { ...keys[0] }, format: 'jwk' })
    .export({ type: 'spki', format: 'pem' })
    .toString()
}
const publicKey = await publicKeyOf()
const suspend = (path: 'suspend' | 'reinstate') =>
  harness.callOperator('POST', `/operator/roots/${path}`, {
    key: operator.operatorKey,
    body: {
      kind: 'organization',
      name: 'closed',
      reason: 'a test',
      ...(path === 'suspend' ? { credentials: 'keep' } : {}),
    },
  })

/** What goes wrong, the rule that must refuse it, and how it is done. */
const mutations: readonly (readonly [name: string, rule: string, run: () => Promise<TestResponse>])[] = [
  ['another state', 'wrong_state', answering((answer) => ({ ...answer, state: 'A'.repeat(43) }))],
  ['no state', 'wrong_state', answering(without('state'))],
  ['an answer that is no list of parameters', 'wrong_state', answering(() => 'code')],
  ['no code', 'code_refused', answering(without('code'))],
  ['an invented code', 'code_refused', answering((answer) => ({ ...answer, code: 'invented' }))],
  [
    'the code of another check: another PKCE verifier',
    'code_refused',
    async () => {
      const [one, two] = [await beginSignIn(browser), await beginSignIn(browser)]
      const { code = '' } = company.signIn(one.request.url, sub)
      const answer = company.signIn(two.request.url, sub)
      return finish(two.state, { ...answer, code })
    },
  ],
  [
    'a code that was used',
    'code_refused',
    async () => {
      const one = await beginSignIn(browser)
      const answer = company.signIn(one.request.url, sub)
      assert.equal(ruleOf(await finish(one.state, answer)), 'shown')
      const two = await beginSignIn(browser)
      const { state = '' } = company.signIn(two.request.url, sub)
      return finish(two.state, { ...answer, state })
    },
  ],
  ['another issuer in the address', 'not_trusted', answering((a) => ({ ...a, iss: 'https://evil.example' }))],
  ['no issuer in the address', 'not_trusted', answering(without('iss'))],
  ['another nonce', 'wrong_nonce', claiming({ nonce: 'A'.repeat(43) })],
  ['no nonce', 'claim_missing', claiming({ nonce: undefined })],
  ['another issuer', 'not_trusted', claiming({ iss: 'https://evil.example' })],
  ['another tenant', 'not_trusted', claiming({ tid: 'tenant-2' })],
  ['no tenant', 'claim_missing', claiming({ tid: undefined })],
  ['another audience', 'not_trusted', claiming({ aud: 'another service' })],
  ['a second audience', 'not_trusted', claiming({ aud: [companyClient.clientId, 'another service'] })],
  [
    'a second audience, with us as the authorized party',
    'not_trusted',
    claiming({ aud: [companyClient.clientId, 'another service'], azp: companyClient.clientId }),
  ],
  [
    'another authorized party',
    'not_trusted',
    claiming({ aud: [companyClient.clientId, 'another service'], azp: 'another service' }),
  ],
  ['the key of somebody else', 'signature', lying({ key: 'other' })],
  ['the key of somebody else under its own name', 'signature', lying({ key: 'other', header: { kid: 'x' } })],
  ['no signature', 'signature', lying({ token: withParts({ alg: 'none' }, (claims) => claims, '') })],
  ['a MAC with the secret of the client', 'signature', lying({ token: withMac(companyClient.clientSecret) })],
  ['a MAC with the public key', 'signature', lying({ token: withMac(publicKey) })],
  [
    'changed claims under the old signature',
    'signature',
    lying({
      token: withParts({ alg: 'RS256', kid: 'company' }, (claims) => ({ ...claims, oid: 'somebody else' })),
    }),
  ],
  ['a cut signature', 'signature', lying({ token: (honest) => honest.slice(0, -20) })],
  ['text in place of a token', 'signature', lying({ token: () => 'token' })],
  ['an expired token', 'expired', claiming({ exp: seconds() - 3_600 })],
  ['a token of the future', 'expired', claiming({ iat: seconds() + 3_600 })],
  ['a token that is not valid yet', 'expired', claiming({ nbf: seconds() + 3_600 })],
  ['a sign-in of an hour ago', 'expired', claiming({ auth_time: seconds() - 3_600 })],
  ['a sign-in before the check', 'expired', claiming({ auth_time: seconds() - 60 })],
  ['a sign-in of the future', 'expired', claiming({ auth_time: seconds() + 3_600 })],
  ['no time of the sign-in', 'claim_missing', claiming({ auth_time: undefined })],
  ['a time of the sign-in that is no number', 'claim_missing', claiming({ auth_time: '1' })],
  ['neither acr nor amr', 'claim_missing', claiming({ acr: undefined, amr: undefined })],
  ['a weak way to sign in', 'not_trusted', claiming({ acr: 'pwd', amr: ['pwd'] })],
  ['one of two methods that are needed', 'not_trusted', claiming({ acr: undefined, amr: ['otp'] })],
  ['no subject', 'claim_missing', claiming({ sub: undefined })],
  ['no id of the person', 'claim_missing', claiming({ oid: undefined })],
  ['an empty id of the person', 'claim_missing', claiming({ oid: '' })],
  ['an id of the person that is no text', 'claim_missing', claiming({ oid: 7 })],
  [
    'no token',
    'claim_missing',
    lying({ answer: { status: 200, body: { access_token: 'none', token_type: 'Bearer' } } }),
  ],
  [
    'a person whom the company refuses',
    'denied',
    answering(({ state, iss }) => ({ state, iss, error: 'access_denied' })),
  ],
  [
    'the check of another person',
    'wrong_person',
    async () => {
      const { request, state } = await beginSignIn(browser)
      return finish(state, company.signIn(request.url, sub), other.browser)
    },
  ],
  [
    'an account that is another person here',
    'duplicate',
    async () => signInWithCompany(other.browser, company, sub),
  ],
  [
    'a state that was used',
    'state_used',
    async () => {
      const { request, state } = await beginSignIn(browser)
      assert.equal(ruleOf(await finish(state, company.signIn(request.url, sub))), 'shown')
      return finish(state, company.signIn(request.url, sub))
    },
  ],
  [
    'a state of nobody',
    'state_unknown',
    async () => {
      const { request, state } = await beginSignIn(browser)
      return finish(`${state.slice(0, -8)}AAAAAAAA`, company.signIn(request.url, sub))
    },
  ],
  [
    'a suspended company',
    'suspended',
    async () => {
      const { request, state } = await beginSignIn(browser, 'closed')
      await suspend('suspend')
      const answer = await finish(state, company.signIn(request.url, sub))
      await suspend('reinstate')
      return answer
    },
  ],
  [
    'a check of eleven minutes',
    'expired',
    async () => {
      const { request, state } = await beginSignIn(browser)
      await harness.owner.query("update issuer_requests set expires_at = pohf_now() - interval '1 minute'")
      return finish(state, company.signIn(request.url, sub))
    },
  ],
  [
    'a page of another origin',
    'forbidden',
    async () => {
      const { request, state } = await beginSignIn(browser)
      const answer = company.signIn(request.url, sub)
      return browser.post('me/proofs/finish', { state, answer }, 'https://evil.example')
    },
  ],
]

test('every changed answer of a company is refused by the rule that names the change', async () => {
  assert.ok(mutations.length >= 25, `${mutations.length} mutations`)
  assert.equal(ruleOf(await signInWithCompany(browser, company, sub)), 'shown')
  const wrong: string[] = []
  let accepted = 0
  for (const [name, rule, run] of mutations) {
    const ended = ruleOf(await run())
    if (ended === 'shown') accepted += 1
    if (ended !== rule) wrong.push(`${name}: ${ended}, expected ${rule}`)
  }
  const path = process.env['POHF_ISSUER_FIGURES']
  if (path !== undefined) {
    const figures = { name: 'oidc', mutations: mutations.length, accepted, cpuMs: await measureCheck() }
    writeFileSync(path, JSON.stringify({ adapters: [figures], wrong }))
  }
  assert.deepEqual(wrong, [])
})

test('a check is finished on a page of the origin that began it, and for the act that it was begun for', async () => {
  const { request, state } = await beginSignIn(browser)
  const { rows } = await harness.owner.query<{ person_id: string }>(
    'select person_id from members where member_id = $1',
    [person.memberId],
  )
  const deps = { ctx: harness.ctx, issuers: makeIssuers([]) }
  const subject = {
    personId: rows[0]?.person_id ?? '',
    sessionId: null,
    jkt: null,
    act: ['person'],
    origin: browser.origin,
  }
  const answer = company.signIn(request.url, sub)
  const ending = async (changes: Partial<typeof subject> | { sessionId: string } | { jkt: string }) => {
    try {
      await finishCheck(deps, { ...subject, ...changes, state, answer })
      return 'shown'
    } catch (error) {
      return (error as { options: { details: { code: string }[] } }).options.details[0]?.code
    }
  }
  assert.equal(await ending({ origin: 'https://evil.example' }), 'wrong_origin')
  assert.equal(await ending({ act: ['approve', 'apr_1'] }), 'wrong_session')
  assert.equal(await ending({ sessionId: 'ses_1' }), 'wrong_session')
  assert.equal(await ending({ jkt: 'another key' }), 'wrong_session')
  assert.equal(await ending({ personId: 'somebody' }), 'wrong_person')
})

test('a company that is down is 503, and no address without TLS or of another issuer is called', async () => {
  const { request, state } = await beginSignIn(browser)
  company.state.isDown = true
  const down = await finish(state, company.signIn(request.url, sub))
  assert.deepEqual([down.status, down.json.error], [503, 'issuer_unavailable'])
  company.state.isDown = false

  for (const [name, metadata] of [
    ['token endpoint', { token_endpoint: 'http://company.example/token' }],
    ['keys', { jwks_uri: 'http://company.example/jwks' }],
    ['issuer', { issuer: 'https://evil.example' }],
  ] as const) {
    company.state.metadata = metadata
    const fresh = await startHarness({ ISSUERS_FILE: writeIssuersFile([entryOf(company)]) })
    const agent = await registerConfirmedAgent(fresh, 'live', 'down@example.com')
    const member = await enrolMember(fresh, agent)
    const begun = await member.browser.post('me/proofs/begin', { issuer: 'acme' })
    assert.deepEqual([begun.status, begun.json.error], [503, 'issuer_unavailable'], name)
  }
  company.state.metadata = {}
})
