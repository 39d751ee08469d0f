// An agent's limit of acts for each human, over two api processes that share nothing but the database and the signer.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { decodeJwt } from 'jose'
import { inTransaction } from '../../src/platform/db/db.ts'
import { recordLosses } from '../../src/roots/index.ts'
import { startHarness, type TestResponse } from '../fixtures/harness.ts'
import {
  budgetSettings,
  findCounterFaults,
  makeSeenSessions,
  moveClockTo,
  registerPayingAgent,
  type LiveAgent,
} from '../fixtures/networks.ts'
import { enrolMember, type PersonBrowser } from '../fixtures/people/member.ts'
import { startApi, type Api } from '../fixtures/processes/api-process.ts'
import { assertRefusal } from '../fixtures/refusal.ts'

const harness = await startHarness(budgetSettings)
const seen = makeSeenSessions(harness)
const dayMs = 86_400_000
const perHumanDay = 3
const address = '203.0.113.21'

const [first, second] = await Promise.all([
  startApi(harness, budgetSettings),
  startApi(harness, budgetSettings),
])

const issuers = [
  ['world', 'world_id', 'biometric:world'],
  ['papers', 'vendor', 'document'],
] as const

/** Stores the proofs of a person, as two issuers that count humans leave them. */
const addProofs = async (memberId: string): Promise<void> => {
  for (const [issuer, kind, sourceClass] of issuers)
    await harness.owner.query(
      `insert into person_proofs (issuer, code_hash, person_id, issuer_id, kind, source_class, level, counted, expires_at)
       select $1, $2, person_id, $1, $3, $4, 'high', true, pohf_now() + interval '365 days' from members where member_id = $5`,
      [issuer, randomBytes(32), kind, sourceClass, memberId],
    )
}
/** What adding a proof leaves with each member of its person. */
const nameProofs = async (memberId: string): Promise<void> => {
  await harness.owner.query(
    "update members set methods = methods || array['external:world', 'external:papers'] where member_id = $1",
    [memberId],
  )
}

/** An agent that wants one human at most three times a day, and a member of it with two counted roots; or the same person again. */
const setUp = async (browser?: PersonBrowser) => {
  const agent = await registerPayingAgent(harness)
  const policy = { view: { minAssurance: 'high', maxActsPerHumanPerDay: perHumanDay } }
  const changed = await harness.call('PATCH', '/api/agents/me', { key: agent.apiKey, body: { policy } })
  assert.equal(changed.status, 200, changed.text)
  const enrolled = await enrolMember(harness, agent, browser ? { browser } : {})
  const { memberId } = enrolled
  if (!browser) await addProofs(memberId)
  await nameProofs(memberId)
  return { agent, memberId, browser: enrolled.browser }
}
type Setting = Awaited<ReturnType<typeof setUp>>

/** Sessions of the member that passed; half of them hold places of their network. */
const playSessions = async ({ agent, memberId }: Setting, count: number): Promise<string[]> => {
  const sessionIds = [
    ...(await seen(Math.ceil(count / 2), agent, address)),
    ...(await seen(Math.ceil(count / 2), agent, address, { reserves: true })),
  ].slice(0, count)
  await harness.owner.query('update sessions set member_ref = $1 where session_id = any($2)', [
    memberId,
    sessionIds,
  ])
  return sessionIds
}

/** Verifies all at once, by turns at both processes. A refused call must say why, and until when. */
const verifyAll = async (agent: LiveAgent, sessionIds: readonly string[], apis: readonly Api[]) => {
  const answers = await Promise.all(
    sessionIds.map((sessionId, index): Promise<TestResponse> => {
      const api = apis[index % apis.length] ?? first
      return api.call('POST', '/api/agents/verify', { key: agent.apiKey, body: { sessionId } })
    }),
  )
  const minted = answers.filter(({ status }) => status === 200)
  for (const answer of answers.filter(({ status }) => status !== 200)) {
    assertRefusal(answer, 409, 'human_limit_reached')
    const seconds = Number(answer.headers['retry-after'])
    assert.ok(seconds > 0 && seconds <= 86_400, `Retry-After: ${seconds}`)
  }
  return minted.map(({ json }) => decodeJwt(json.pohf_jwt))
}

const spentBy = async ({ apiKey }: LiveAgent): Promise<number> =>
  1_000 - (await harness.call('GET', '/api/agents/credits/balance', { key: apiKey })).json.balance

test('64 parallel acts of one human with two counted roots give three credentials, and no more after SIGKILL', async () => {
  await moveClockTo(harness, 9, 20)
  const setting = await setUp()
  const { agent } = setting
  const claims = await verifyAll(agent, await playSessions(setting, 64), [first, second])
  assert.equal(claims.length, perHumanDay)
  for (const { limit, roots } of claims) {
    assert.deepEqual(limit, { perHumanDay })
    assert.deepEqual(
      (roots as { kind: string; counted: boolean }[]).map(({ kind, counted }) => [kind, counted]),
      [
        ['world_id', true],
        ['vendor', true],
      ],
    )
  }
  assert.equal(await spentBy(agent), perHumanDay, 'a refused call is free')

  await Promise.all([first.kill(), second.kill()])
  await Promise.all([first.restart(), second.restart()])
  assert.deepEqual(await verifyAll(agent, await playSessions(setting, 8), [first, second]), [])
  assert.equal(await spentBy(agent), perHumanDay)
  assert.deepEqual(await findCounterFaults(harness), [])

  await harness.advance(dayMs)
  const nextDay = await verifyAll(agent, await playSessions(setting, 8), [first, second])
  assert.equal(nextDay.length, perHumanDay, 'the next day has places again')
})

test('a limit holds for each agent alone: the same human has three acts at another one', async () => {
  await moveClockTo(harness, 10, 5)
  const one = await setUp()
  const other = await setUp(one.browser)
  for (const setting of [one, other])
    assert.equal((await verifyAll(setting.agent, await playSessions(setting, 6), [first, second])).length, 3)
})

test('after a restore that lost credentials of the day a human has no act left until the next day', async () => {
  await moveClockTo(harness, 10, 20)
  const setting = await setUp()
  const { agent } = setting
  await inTransaction(harness.ctx, 'system', async (tx) => {
    const hour = Math.floor(harness.ctx.clock.now().getTime() / 3_600_000)
    await recordLosses(tx, { all: false, from: undefined }, [{ hour, credentials: 1 }])
  })
  assert.deepEqual(await verifyAll(agent, await playSessions(setting, 4), [first, second]), [])
  assert.equal(await spentBy(agent), 0)
  await harness.advance(dayMs)
  const nextDay = await verifyAll(agent, await playSessions(setting, 4), [first, second])
  assert.equal(nextDay.length, perHumanDay)
})

test('a limit without a root that counts humans is refused, and so is a session without one', async () => {
  const agent = await registerPayingAgent(harness)
  const setPolicy = (policy: unknown) =>
    harness.call('PATCH', '/api/agents/me', { key: agent.apiKey, body: { policy } })
  const alone = await setPolicy({ view: { maxActsPerHumanPerDay: 3 } })
  assertRefusal(alone, 400, 'validation_failed')
  assert.match(alone.text, /maxActsPerHumanPerDay/)
  for (const maxActsPerHumanPerDay of [0, 201, 1.5, '3'])
    assertRefusal(
      await setPolicy({ view: { minAssurance: 'high', maxActsPerHumanPerDay } }),
      400,
      'validation_failed',
    )
  assert.equal((await setPolicy({ view: { minAssurance: 'high', maxActsPerHumanPerDay: 3 } })).status, 200)
  const [sessionId] = await seen(1, agent, address)
  const refused = await harness.call('POST', '/api/agents/verify', { key: agent.apiKey, body: { sessionId } })
  assertRefusal(refused, 409, 'session_rejected')
  assert.equal(refused.json.details[0].code, 'below_policy')
})
