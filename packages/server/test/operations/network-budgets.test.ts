// The budget of an address over two api processes that share nothing but the database and the signer.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness, type TestResponse } from '../fixtures/harness.ts'
import {
  budgetSettings,
  findCounterFaults,
  makeSeenSessions,
  moveClockTo,
  registerPayingAgent,
  type LiveAgent,
} from '../fixtures/networks.ts'
import { startApi, type Api } from '../fixtures/processes/api-process.ts'
import { assertRefusal } from '../fixtures/refusal.ts'

const harness = await startHarness(budgetSettings)
const seen = makeSeenSessions(harness)
const hourMs = 3_600_000

const [first, second] = await Promise.all([
  startApi(harness, budgetSettings),
  startApi(harness, budgetSettings),
])

/** A call of verify, and the process that gets it. */
type Act = { readonly agent: LiveAgent; readonly sessionId: string; readonly api: Api }
type AnsweredAct = Act & { readonly answer: TestResponse }
const seedActs = async (agent: LiveAgent, address: string, count: number, apis: readonly Api[]) =>
  (await seen(count, agent, address)).map((sessionId, index): Act => ({
    agent,
    sessionId,
    api: apis[index % apis.length] ?? first,
  }))
const verify = ({ agent, sessionId, api }: Act): Promise<TestResponse> =>
  api.call('POST', '/api/agents/verify', { key: agent.apiKey, body: { sessionId } })

/** Verifies all at once. A refused call must be `network_busy`. */
const verifyAll = async (acts: readonly Act[]) => {
  const answered = await Promise.all(
    acts.map(async (act): Promise<AnsweredAct> => ({ ...act, answer: await verify(act) })),
  )
  const busy = answered.filter(({ answer }) => answer.status !== 200)
  for (const { answer } of busy) assertRefusal(answer, 409, 'network_busy')
  return { minted: answered.length - busy.length, busy }
}

/** The credits that an agent has spent, and its credentials. */
const spentBy = async ({ apiKey, agentId }: LiveAgent): Promise<readonly [number, number]> => {
  const { json } = await harness.call('GET', '/api/agents/credits/balance', { key: apiKey })
  const { rows } = await harness.owner.query<{ n: number }>(
    'select count(*)::int as n from credentials where agent_id = $1',
    [agentId],
  )
  return [1_000 - json.balance, rows[0]?.n ?? NaN]
}

test('an agent that tries to use up the budget of its neighbours gets half of it', async () => {
  await moveClockTo(harness, 9, 20)
  const [greedy, neighbour] = [await registerPayingAgent(harness), await registerPayingAgent(harness)]
  const [address, both] = ['203.0.113.9', [first, second]]
  assert.equal((await verifyAll(await seedActs(greedy, address, 40, both))).minted, 15)
  assert.equal((await verifyAll(await seedActs(neighbour, address, 16, both))).minted, 15)
  assert.deepEqual(await findCounterFaults(harness), [])
})

const address = '203.0.113.7'
const agents = await Promise.all([1, 2, 3, 4, 5].map(() => registerPayingAgent(harness)))
const late = agents.pop()
/** Acts that no process has tried, and those that only the second one refused, before it was killed. */
const waiting = { fresh: [] as Act[], refused: [] as Act[] }

/** Checks what the agents got together, and that each paid for what it got and had at most its half of each hour. */
const assertSpent = async (total: number, mostOfOne: number): Promise<void> => {
  let sum = 0
  for (const agent of agents) {
    const [credits, credentials] = await spentBy(agent)
    assert.equal(credits, credentials, 'a refused call is free')
    assert.ok(credentials <= mostOfOne, `${credentials} of one agent`)
    sum += credentials
  }
  assert.equal(sum, total)
  assert.deepEqual(await findCounterFaults(harness), [])
}

test('one address has 30 in a clock hour and one agent 15 of them, at 100 parallel, and no more after SIGKILL', async () => {
  await moveClockTo(harness, 9, 20)
  const acts: Act[] = []
  // Each process has agents of its own, so that no lock but that of the counters orders the mints of the two.
  for (const [index, agent] of agents.entries()) {
    const made = await seedActs(agent, address, index < 2 ? 40 : 25, [index < 2 ? first : second])
    acts.push(...made.slice(0, 25))
    waiting.fresh.push(...made.slice(25))
  }
  assert.equal(acts.length, 100)
  const { minted, busy } = await verifyAll(acts)
  assert.equal(minted, 30)
  for (const { answer } of busy) {
    const seconds = Number(answer.headers['retry-after'])
    assert.ok(seconds > 35 * 60 && seconds <= 40 * 60, `Retry-After: ${seconds}`)
  }
  await assertSpent(30, 15)

  await second.kill()
  await second.restart()
  assert.ok(late)
  const ofLate = await seedActs(late, address, 2, [second])
  const refusedByFirst = busy.filter(({ api }) => api === first).map((act) => ({ ...act, api: second }))
  assert.ok(refusedByFirst.length >= 20)
  assert.equal((await verifyAll([...refusedByFirst, ...ofLate])).minted, 0)
  assert.deepEqual(await spentBy(late), [0, 0])
  await assertSpent(30, 15)
  // An api remembers for ten seconds what it refused; these are unknown to both processes.
  waiting.refused = busy.filter(({ api }) => api === second)
})

test('the next hour has 30 again, and a process that is killed while it mints takes no place without a credential', async () => {
  assert.ok(waiting.refused.length >= 20, 'the test before this one has refused some')
  await harness.advance(hourMs)
  const calls = waiting.refused.map((act, index) =>
    verify({ ...act, api: index % 2 === 0 ? first : second }).catch(() => undefined),
  )
  await Promise.race(calls)
  await second.kill()
  await Promise.all(calls)
  // What the killed process was doing has ended when others have got the locks of the same counters.
  await verifyAll(waiting.fresh)
  await assertSpent(60, 30)
  const { rows } = await harness.owner.query<{ used: number; hours: number[] }>(
    `select used, array(select unnest(hours)) as hours from root_counters
     where spender = '' and tag in (select unnest(narrow_tags) from root_sessions where session_id = $1)`,
    [waiting.fresh[0]?.sessionId],
  )
  assert.deepEqual(rows, [{ used: 60, hours: [30, 30] }])
})
