import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { decodeJwt } from 'jose'
import type { ForgingFile } from '@pohf/protocol'
import { forgingEntries } from '@pohf/verify'
import { startHarness, type TestResponse } from '../../../test/fixtures/harness.ts'
import { grantCredits } from '../../../test/fixtures/payments/ledger.ts'
import { makeAttestedModel } from '../../../test/fixtures/people/attested-model.ts'
import { enrolMember } from '../../../test/fixtures/people/member.ts'
import { playSession } from '../../../test/fixtures/people/play-session.ts'
import { openSecurityKey } from '../../../test/fixtures/people/security-key.ts'
import { storeProofs, type StoredProofKind } from '../../../test/fixtures/people/stored-proofs.ts'
import { makeScoredSession } from '../../../test/fixtures/scored-session.ts'
import { readForgingFile } from './prices.ts'

const folder = mkdtempSync(join(tmpdir(), 'pohf-policy-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const file = join(folder, 'table.json')
/** Without scripts and at 3.6 USD an hour, 1,000 views cost 1 USD; an authenticator adds 10. */
const dearTable = (): ForgingFile => {
  const { inputs, ...shipped } = readForgingFile('')
  const authenticator = inputs.roots['authenticator']
  if (!authenticator) throw new Error('the table has no authenticator')
  const ways = [{ by: 'buy', usd: 36_500, subjects: 1_000_000, lifeDays: 365 } as const]
  const dear: ForgingFile['inputs'] = {
    ...inputs,
    wagePerHour: 3.6,
    families: [],
    roots: { ...inputs.roots, authenticator: { ...authenticator, ways } },
  }
  const date = new Date().toISOString().slice(0, 10)
  return { ...shipped, date, inputs: dear, entries: forgingEntries(dear) }
}
writeFileSync(file, JSON.stringify(dearTable()))

const model = await makeAttestedModel()
after(() => model.close())
const harness = await startHarness({ ...model.settings, FORGING_FILE: file })
type Agent = Awaited<ReturnType<typeof harness.register>>
const makeAgent = async (): Promise<Agent> => {
  const agent = await harness.register('live')
  await grantCredits(harness, agent, 20n)
  return agent
}
const setPolicy = (agent: Agent, policy: unknown) =>
  harness.call('PATCH', '/api/agents/me', { key: agent.apiKey, body: { policy } })
const creditsOf = async (agent: Agent) =>
  (await harness.call('GET', '/api/agents/credits/balance', { key: agent.apiKey })).json.balance as number
const verify = (agent: Agent, body: object) =>
  harness.call('POST', '/api/agents/verify', { key: agent.apiKey, body })
const prove = (memberId: string, ...kinds: readonly StoredProofKind[]) =>
  storeProofs((text, values) => harness.owner.query(text, values), memberId, kinds)
const assertBelow = (
  answer: TestResponse,
  code: 'session_rejected' | 'below_policy',
  message: RegExp,
): readonly { readonly kind: string; readonly url: string }[] => {
  assert.deepEqual([answer.status, answer.json.error], [409, code], answer.text)
  const [detail, ...more] = answer.json.details
  assert.deepEqual([detail.code, more], ['below_policy', []])
  assert.match(detail.message, message)
  return detail.stepUp
}
const assertStepUpPage = async ([way, ...more]: ReturnType<typeof assertBelow>): Promise<void> => {
  assert.deepEqual([way?.kind, more], ['authenticator', []])
  const page = await harness.call('GET', new URL(way?.url ?? '').pathname)
  assert.equal(page.status, 200, page.text)
}

test('the policy of a profile is stored, shown and replaced; unknown kinds and levels are refused', async () => {
  const agent = await makeAgent()
  const policy = { view: { minAssurance: 'substantial' }, personhood: { minForging: 'F2' } }
  assert.deepEqual((await setPolicy(agent, policy)).json.policy, policy)
  const read = await harness.call('GET', '/api/agents/me', { key: agent.apiKey })
  assert.deepEqual(read.json.policy, policy)
  assert.deepEqual((await setPolicy(agent, {})).json.policy, {})
  for (const wrong of [
    { binding: { minAssurance: 'low' } },
    { view: { minAssurance: 'medium' } },
    { view: { minForging: 'F5' } },
    { view: { minForgingHuman: 'F5' } },
    { view: { maxActsPerHumanPerDay: 3 } },
    { view: { minAssurance: 'substantial', maxActsPerHumanPerDay: 3 } },
    { view: { minAssurance: 'high', maxActsPerHumanPerDay: 0 } },
    { view: { minAssurance: 'high', maxActsPerHumanPerDay: 201 } },
    { view: { floor: 'F1' } },
    { view: null },
    [],
  ])
    assert.equal((await setPolicy(agent, wrong)).status, 400, JSON.stringify(wrong))
})

test('a view below the floor of the profile is refused and not charged, and minted once it reaches it', async () => {
  const agent = await makeAgent()
  const { sessionId } = await playSession(harness, { site: agent.agentId })
  await setPolicy(agent, { view: { minAssurance: 'substantial' } })
  const refused = await verify(agent, { sessionId })
  await assertStepUpPage(assertBelow(refused, 'session_rejected', /assurance is low.*asks for substantial/))
  assertBelow(
    await verify(agent, { sessionId, minAssurance: 'low', minForging: 'F0' }),
    'session_rejected',
    /asks for substantial/,
  )
  assert.equal(await creditsOf(agent), 20)
  await openSecurityKey(harness, model).attest(agent.apiKey, sessionId)
  const minted = await verify(agent, { sessionId })
  assert.deepEqual([minted.status, minted.json.assurance], [200, 'substantial'], minted.text)
  assert.equal(await creditsOf(agent), 19)
})

test('a call raises the floor: by assurance, by class, and for a credential that exists', async () => {
  const agent = await makeAgent()
  const { sessionId } = await makeScoredSession(harness, agent)
  assertBelow(
    await verify(agent, { sessionId, minForging: 'F2' }),
    'session_rejected',
    /costs F1.*asks for F2/,
  )
  assertBelow(await verify(agent, { sessionId, minAssurance: 'high' }), 'session_rejected', /asks for high/)
  assert.equal(await creditsOf(agent), 20)
  const minted = await verify(agent, { sessionId, minForging: 'F1' })
  assert.equal(minted.status, 200, minted.text)
  const repeated = await verify(agent, { sessionId, minForging: 'F2' })
  assert.deepEqual(assertBelow(repeated, 'session_rejected', /costs F1/), [], 'the act has its credential')
  assert.equal((await verify(agent, { sessionId })).json.pohf_jwt, minted.json.pohf_jwt)
  await setPolicy(agent, { view: { minForging: 'F2' } })
  assertBelow(await verify(agent, { sessionId }), 'session_rejected', /costs F1/)
  await setPolicy(agent, { work: { minForging: 'F4' }, presence: { minForging: 'F4' } })
  assert.equal((await verify(agent, { sessionId })).status, 200, 'floors of other kinds do not count')
  assert.equal(await creditsOf(agent), 19)
})

test('of calls in one batch each has its own floor', async () => {
  const agent = await makeAgent()
  const { sessionId } = await makeScoredSession(harness, agent)
  const answers = await Promise.all([
    verify(agent, { sessionId, minForging: 'F3' }),
    verify(agent, { sessionId }),
    verify(agent, { sessionId, minForging: 'F1' }),
  ])
  assert.deepEqual(
    answers.map(({ status }) => status),
    [409, 200, 200],
  )
  assert.equal(await creditsOf(agent), 19)
})

test('personhood below the floor is refused with below_policy and not charged', async () => {
  const agent = await makeAgent()
  const { memberId } = await enrolMember(harness, agent)
  const personhood = (body: object = {}) =>
    harness.call('POST', '/api/agents/verify-personhood', {
      key: agent.apiKey,
      body: { memberId, ...body },
    })
  await setPolicy(agent, { personhood: { minAssurance: 'high' } })
  await assertStepUpPage(assertBelow(await personhood(), 'below_policy', /asks for high/))
  assertBelow(await personhood({ minAssurance: 'low' }), 'below_policy', /asks for high/)
  assert.equal(await creditsOf(agent), 20)
  await setPolicy(agent, {})
  const minted = await personhood()
  assert.equal(minted.status, 200, minted.text)
  assertBelow(await personhood({ minAssurance: 'high' }), 'below_policy', /asks for high/)
  assertBelow(await personhood({ minForging: 'F4' }), 'below_policy', /asks for F4/)
  assert.equal((await personhood()).json.pohf_jwt, minted.json.pohf_jwt)
  assert.equal(await creditsOf(agent), 19)
})

test('a member who stepped up gets a stronger credential in place of the stored one', async () => {
  const agent = await makeAgent()
  const { memberId } = await enrolMember(harness, agent)
  const personhood = (body: object = {}) =>
    harness.call('POST', '/api/agents/verify-personhood', {
      key: agent.apiKey,
      body: { memberId, ...body },
    })
  const weak = await personhood()
  assertBelow(await personhood({ minAssurance: 'high' }), 'below_policy', /asks for high/)
  await prove(memberId, 'world_id')
  assert.equal((await personhood()).json.pohf_jwt, weak.json.pohf_jwt, 'without a floor it is a repeat')
  const strong = await personhood({ minAssurance: 'high' })
  assert.deepEqual([strong.status, strong.json.assurance], [200, 'high'], strong.text)
  for (const body of [{}, { minAssurance: 'high' }])
    assert.equal((await personhood(body)).json.pohf_jwt, strong.json.pohf_jwt)
  assert.equal(await creditsOf(agent), 18)
})

test('a price of distinct humans needs a root that counts them, and roots that do not rest on the same thing add', async () => {
  const agent = await makeAgent()
  const { memberId } = await enrolMember(harness, agent)
  const personhood = (minForgingHuman: string) =>
    harness.call('POST', '/api/agents/verify-personhood', {
      key: agent.apiKey,
      body: { memberId, minForgingHuman },
    })
  assertBelow(await personhood('F0'), 'below_policy', /no root of the act counts humans.*asks for F0/)
  await prove(memberId, 'world_id')
  assertBelow(await personhood('F3'), 'below_policy', /distinct humans costs F2.*asks for F3/)
  const one = await personhood('F2')
  assert.equal(one.status, 200, one.text)
  await prove(memberId, 'sms')
  const both = await personhood('F3')
  assert.equal(both.status, 200, both.text)
  assert.notEqual(both.json.pohf_jwt, one.json.pohf_jwt)
  assertBelow(await personhood('F4'), 'below_policy', /distinct humans costs F3/)
  assert.equal(await creditsOf(agent), 18)
})

test('the limit that an agent sets for each human raises the price of its own acts', async () => {
  const agent = await makeAgent()
  const { memberId } = await enrolMember(harness, agent)
  await prove(memberId, 'vendor')
  const personhood = () =>
    harness.call('POST', '/api/agents/verify-personhood', { key: agent.apiKey, body: { memberId } })
  const floor = { minForging: 'F2', minForgingHuman: 'F4' }
  await setPolicy(agent, { personhood: floor })
  assertBelow(await personhood(), 'below_policy', /costs F1.*asks for F2/)
  await setPolicy(agent, { personhood: { ...floor, maxActsPerHumanPerDay: 1 } })
  const minted = await personhood()
  assert.equal(minted.status, 200, minted.text)
  assert.deepEqual(decodeJwt(minted.json.pohf_jwt)['limit'], { perHumanDay: 1 })
})

test('a test credential has no price, so a class refuses it', async () => {
  const agent = await harness.register('test')
  assertBelow(
    await verify(agent, { sessionId: 'ses_test_pass', minForging: 'F0' }),
    'session_rejected',
    /unknown price/,
  )
  assert.equal((await verify(agent, { sessionId: 'ses_test_pass' })).status, 200)
})

test('90 days after the date of the table every class refuses, and nothing else does', async () => {
  const agent = await makeAgent()
  await harness.advance(90 * 86_400_000)
  const { sessionId } = await makeScoredSession(harness, agent)
  assertBelow(
    await verify(agent, { sessionId, minForging: 'F0' }),
    'session_rejected',
    /unknown price.*asks for F0/,
  )
  assert.equal((await verify(agent, { sessionId, minAssurance: 'low' })).status, 200)
})
