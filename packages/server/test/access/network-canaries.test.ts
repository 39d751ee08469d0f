// What people, agents and operators do from one address, at every level, and then a search for that address, its tags and its
// counters in all that was answered, claimed, published, delivered, audited and logged.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { decodeJwt } from 'jose'
import { makeWorkMint } from '../../src/credentials/mint/work.ts'
import { readForgingFile } from '../../src/credentials/forging/prices.ts'
import { makeStatusIndexes } from '../../src/credentials/status/indexes.ts'
import * as agents from '../../src/agents/index.ts'
import { makeCredits } from '../../src/credits/index.ts'
import * as operators from '../../src/operators/index.ts'
import { inTransaction } from '../../src/platform/db/db.ts'
import { makeRoots } from '../../src/roots/index.ts'
import { findSession } from '../../src/sessions/index.ts'
import { connectSigner } from '../../src/signing/index.ts'
import { startHarness, type TestRequest, type TestResponse } from '../fixtures/harness.ts'
import { mintSignerOf } from '../fixtures/mint-signer.ts'
import {
  browseFrom,
  budgetSettings,
  makeSeenSessions,
  moveClockTo,
  type LiveAgent,
} from '../fixtures/networks.ts'
import { grantCredits } from '../fixtures/payments/ledger.ts'
import { makeAttestedModel } from '../fixtures/people/attested-model.ts'
import { enrolMember, registerConfirmedAgent } from '../fixtures/people/member.ts'
import { playSession } from '../fixtures/people/play-session.ts'
import { openSecurityKey } from '../fixtures/people/security-key.ts'
import { assertRefusal } from '../fixtures/refusal.ts'
import { startReceiver } from '../fixtures/webhook-receiver.ts'
import { subscribe } from '../fixtures/webhooks.ts'
import { dumpTables, findLeakedSecrets } from './secret-leaks.ts'

const model = await makeAttestedModel()
after(() => model.close())
/** Every limit: a number that nothing else has. */
const limit = 912_345
const harness = await startHarness({
  ...budgetSettings,
  ...model.settings,
  LOG_LEVEL: 'debug',
  ROOT_ADDRESS_PER_HOUR: String(limit),
  ROOT_ADDRESS_PER_DAY: String(limit),
  ROOT_NETWORK_PER_HOUR: String(limit),
  ROOT_NETWORK_PER_DAY: String(limit),
  ROOT_DEVICE_PER_DAY: String(limit),
  ROOT_ACCOUNT_PER_DAY: String(limit),
})
const { ctx, owner } = harness
const address = '198.18.77.33'
const accountHash = Buffer.from('a hash of a payout account, 32 b')
/** Counters stand here before everything that is looked at: a number that nothing else has. */
const startedAt = 398_765
const operator = await operators.create(ctx, 'machine', 'Ada')
const receiver = await startReceiver()

const answers: string[] = []
const keep = (answer: TestResponse): TestResponse => {
  answers.push(answer.text, JSON.stringify(answer.headers))
  return answer
}
/** The same server; every answer is kept. */
const kept = {
  ...harness,
  call: async (...request: Parameters<typeof harness.call>) => keep(await harness.call(...request)),
}
const page = browseFrom(kept, address)
const post = (agent: LiveAgent, path: string, body: object) =>
  kept.call('POST', `/api/agents/${path}`, { key: agent.apiKey, body })
const operate = async (method: string, path: string, request: TestRequest = {}) =>
  keep(await harness.callOperator(method, `/operator/${path}`, { key: operator.operatorKey, ...request }))

/** An agent that gets every event. */
const makeSite = async (name: string): Promise<LiveAgent> => {
  const agent = await registerConfirmedAgent(harness, 'live', `${name}@${name}.example`)
  await grantCredits(harness, agent, 1_000n)
  await subscribe(harness, agent, receiver.url)
  return agent
}
const shop = await makeSite('shop')
const news = await makeSite('news')

const moveCounters = () =>
  owner.query(
    `update root_counters set used = $1, hours = array_fill($1::int, array[1], array[array_lower(hours, 1)])`,
    [startedAt],
  )
const claimsOf = ({ json, text }: TestResponse) => {
  assert.ok(json.pohf_jwt, text)
  return decodeJwt(json.pohf_jwt)
}
/** The strongest root that a credential names. */
const rootOf = (answer: TestResponse) => (claimsOf(answer)['roots'] as { kind: string }[])[0]?.kind

/** A view at `low`, and one with an authenticator after the refusal that names the step-up page. */
const mintViews = async (): Promise<void> => {
  const { sessionId } = await playSession(page, { site: shop.agentId })
  // Without its reservation the mint spends directly, on the counters of stronger roots too.
  await harness.advance(16 * 60_000)
  await harness.runJobs()
  await moveCounters()
  const floored = await post(shop, 'verify', { sessionId, minAssurance: 'substantial' })
  assertRefusal(floored, 409, 'session_rejected')
  const url = new URL(floored.json.details[0].stepUp[0].url)
  assert.equal((await page.call('GET', url.pathname)).status, 200)
  const token = url.pathname.split('/').at(-1)
  const options = { body: { token }, headers: { origin: url.origin } }
  assert.equal((await page.call('POST', '/api/step-up/options', options)).status, 200)
  const key = openSecurityKey({ ...page, ctx }, model)
  assert.equal((await key.attest(shop.apiKey, sessionId)).json.attested, true)
  assert.equal(rootOf(await post(shop, 'verify', { sessionId })), 'authenticator')
  const [plain = ''] = await makeSeenSessions(harness)(1, news, address)
  assert.equal(rootOf(await post(news, 'verify', { sessionId: plain })), 'network')
  await kept.call('GET', `/api/agents/sessions/${sessionId}`, { key: shop.apiKey })
  await kept.call('GET', `/api/agents/sessions/${sessionId}/chunks`, { key: shop.apiKey })
}

/** Personhood, a binding and presence of a member, who may read what is stored about them. */
const mintMember = async (): Promise<void> => {
  const { memberId, browser } = await enrolMember(page, shop)
  await moveCounters()
  assert.equal(rootOf(await post(shop, 'verify-personhood', { memberId })), 'network')
  assert.equal(rootOf(await post(shop, 'bind-transaction', { memberId, paymentRef: 'other:1' })), 'network')
  const photo = { memberId, source: 'geo_photo', photoHash: 'p-1' }
  const presence = await kept.call('POST', '/api/kinetic/submit', { key: shop.apiKey, body: photo })
  await post(shop, 'verify', { sessionId: presence.json.sessionId })
  await browser.get('me')
}

/** Work of somebody whose payout account is a root. */
const mintWork = async (): Promise<void> => {
  const signer = connectSigner(ctx)
  const mint = makeWorkMint({
    ctx,
    signer,
    mintSigner: mintSignerOf(ctx, signer),
    statusIndexes: makeStatusIndexes(ctx, signer),
    roots: makeRoots(ctx),
    credits: makeCredits(ctx, agents),
    forging: readForgingFile(''),
    findPayoutRoot: async () => ({ accountHash, paidAt: new Date(0) }),
    findWorkRef: async () => undefined,
  })
  const [sessionId = ''] = await makeSeenSessions(harness)(1, news, address, { kind: 'work' })
  const key = { agentId: news.agentId, mode: 'live', sessionId } as const
  const session = await inTransaction(ctx, 'system', (tx) => findSession(tx, key))
  assert.ok(session)
  const member = { agentId: news.agentId, mode: 'live', memberId: 'mem_worker' } as const
  const signed = await mint.sign({ ...key, session, member, personId: 'worker' })
  await inTransaction(ctx, 'system', (tx) => mint.write(tx, signed))
  await signer.close()
}

/** A busy network, a suspended model and network, a budget of its own, and a mint that the database refuses. */
const refuseAndOperate = async (): Promise<void> => {
  const seen = makeSeenSessions(harness)
  const [busy = '', failing = ''] = await seen(2, shop, address)
  await owner.query('update root_counters set used = day_limit')
  assertRefusal(await post(shop, 'verify', { sessionId: busy }), 409, 'network_busy')
  await moveCounters()
  const { sessionId: suspended } = await playSession(page, { site: shop.agentId })
  const reason = 'a farm'
  for (const [kind, name] of [
    ['network', address],
    ['authenticator', model.aaguid],
  ] as const) {
    // The operator named it, so this answer may. With a key, it is stored.
    const { status, text } = await harness.callOperator('POST', '/operator/roots/suspend', {
      key: operator.operatorKey,
      body: { kind, name, credentials: 'suspend', reason },
      headers: { 'idempotency-key': `suspend ${kind}` },
    })
    assert.equal(status, 200, text)
  }
  await openSecurityKey({ ...page, ctx }, model).attest(shop.apiKey, suspended)
  assertRefusal(await post(shop, 'verify', { sessionId: suspended }), 409, 'root_suspended')
  await operate('POST', `agents/${news.agentId}/network-budget`, { body: { factor: 3, reason } })
  await owner.query('alter table root_counters add constraint planted check (used < 1000) not valid')
  assert.equal((await post(shop, 'verify', { sessionId: failing })).status, 500)
  await owner.query('alter table root_counters drop constraint planted')
  assert.equal((await operate('GET', 'audit')).status, 200)
  keep(await harness.callOperator('GET', '/metrics', { key: operator.operatorKey }))
}

/** The text, and what its parts in base64 say. */
const withDecodedParts = (text: string): string =>
  [text, ...(text.match(/[\w-]{16,}/g) ?? []).map((part) => Buffer.from(part, 'base64url').toString())].join(
    '\n',
  )
const rowsOf = async (table: string): Promise<string> =>
  (await owner.query<{ text: string }>(`select t::text as text from ${table} t`)).rows
    .map(({ text }) => text)
    .join('\n')

test('no counter, tag or address is in a claim, an event, an answer, a delivery, the audit log, a log line or, in clear, in the database', async () => {
  await moveClockTo(harness, 9, 5)
  await mintViews()
  await mintMember()
  await mintWork()
  await refuseAndOperate()
  for (const agent of [shop, news]) await kept.call('GET', '/api/agents/events', { key: agent.apiKey })
  await harness.runJobs()

  const { rows } = await owner.query<{ tag: string }>('select distinct tag from root_counters')
  const names = rows.map(({ tag }) => tag)
  assert.ok(
    names.some((tag) => tag.endsWith('.strong')) && names.some((tag) => tag.endsWith(`.${model.aaguid}`)),
  )
  const tags = [...new Set(names.flatMap((tag) => tag.split('.')))].filter((tag) => tag.length === 22)
  assert.ok(tags.length >= 4, 'of the address, the /24, a key and an account')
  const places = {
    answers: answers.join('\n'),
    claims: await rowsOf('credentials'),
    events: `${await rowsOf('events')}\n${await rowsOf('outbox')}`,
    deliveries: JSON.stringify(receiver.received),
    audit: await rowsOf('operator_audit'),
    log: harness.lines.join(''),
  }
  assert.ok(receiver.received.length > 5 && harness.lines.length > 5)
  for (const [place, text] of Object.entries(places)) {
    const everything = withDecodedParts(text)
    for (const canary of [address, '198.18.77', ...tags, accountHash.toString('base64url')])
      assert.ok(!everything.includes(canary), `${place}: ${canary}`)
    assert.doesNotMatch(everything, /39876\d/, `${place}: a counter`)
    assert.ok(!everything.includes(String(limit)), `${place}: a limit`)
  }
  const dump = (await dumpTables(owner)).text
  assert.deepEqual(findLeakedSecrets(dump, { address }), [], 'the database has the address in clear')
})

/** Every value of an object with its path, times left out. */
const leavesOf = (value: unknown, path = ''): string[] => {
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([name, each]) => leavesOf(each, `${path}.${name}`))
  const text = String(value)
  const isTime = /^\d{10}$|^\d{4}-\d\d-\d\dT|GMT$/.test(text)
  return isTime ? [] : [`${path}=${text}`]
}
/** Everything that an agent gets of one credential from this address. */
const holdingsOf = async (agent: LiveAgent, from: string): Promise<Set<string>> => {
  const [sessionId = ''] = await makeSeenSessions(harness)(1, agent, from)
  const { key, call } = { key: agent.apiKey, call: harness.call }
  const minted = await call('POST', '/api/agents/verify', { key, body: { sessionId } })
  const read = await call('GET', `/api/agents/sessions/${sessionId}`, { key })
  const events = await call('GET', '/api/agents/events?limit=1', { key })
  const parts = [claimsOf(minted), minted.json, minted.headers, read.json, read.headers, events.json]
  return new Set(parts.flatMap((part) => leavesOf(part)))
}

/** What two new agents both hold, each of one visitor from these addresses. */
const sharedBy = async (one: string, two: string): Promise<string[]> => {
  const held = await holdingsOf(await makeSite('left'), one)
  const other = await holdingsOf(await makeSite('right'), two)
  assert.ok(held.size > 30)
  return [...held].filter((leaf) => other.has(leaf)).toSorted()
}

test('two agents that compare what they hold cannot tell whether their visitors share a network', async () => {
  await moveClockTo(harness, 9, 5)
  const apart = await sharedBy('198.18.90.1', '198.18.91.1')
  assert.deepEqual(await sharedBy('198.18.92.1', '198.18.92.1'), apart)
})
