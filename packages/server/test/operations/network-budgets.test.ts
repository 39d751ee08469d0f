// The budget of an address over two api processes that share nothing but the database and the signer.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { freePort } from '../../dev/cluster.ts'
import { startHarness, type TestResponse } from '../fixtures/harness.ts'
import {
  budgetSettings,
  findCounterFaults,
  makeSeenSessions,
  moveClockTo,
  registerPayingAgent,
  type LiveAgent,
} from '../fixtures/networks.ts'
import { callOver } from '../fixtures/processes/attacked-server.ts'
import { startMain } from '../fixtures/processes/child-processes.ts'
import { waitUntilReady } from '../fixtures/processes/restarts.ts'
import { assertRefusal } from '../fixtures/refusal.ts'

const harness = await startHarness(budgetSettings)
const seen = makeSeenSessions(harness)
const hourMs = 3_600_000

/** An api process on the database and the signer of the harness. Its time is the database's, which the harness moves. */
const startApi = async () => {
  const port = await freePort()
  const environment = {
    ...budgetSettings,
    DATABASE_URL: harness.ctx.config.DATABASE_URL,
    BASE_URL: harness.ctx.config.BASE_URL,
    DATA_DIR: harness.dataDir,
    DATABASE_WAIT_SECONDS: '60',
    PORT: String(port),
    OPERATOR_PORT: String(await freePort()),
  }
  let running = startMain(['api'], environment)
  const url = `http://127.0.0.1:${port}`
  await waitUntilReady(url)
  const kill = async (): Promise<void> => {
    running.child.kill('SIGKILL')
    await running.exited
  }
  after(kill)
  return {
    call: callOver(url),
    kill,
    restart: async (): Promise<void> => {
      running = startMain(['api'], environment)
      await waitUntilReady(url)
    },
  }
}
type Api = Awaited<ReturnType<typeof startApi>>
const [first, second] = await Promise.all([startApi(), startApi()])

type Act = { readonly agent: LiveAgent; readonly sessionId: string }
const actsOf = async (agent: LiveAgent, address: string, count: number): Promise<Act[]> =>
  (await seen(count, agent, address)).map((sessionId) => ({ agent, sessionId }))
const verify = (api: Api, { agent, sessionId }: Act): Promise<TestResponse> =>
  api.call('POST', '/api/agents/verify', { key: agent.apiKey, body: { sessionId } })

type Answered = Act & { readonly api: Api; readonly answer: TestResponse }
/** Verifies all at once, every second one by the other process. A refused call must be `network_busy`. */
const verifyAll = async (acts: readonly Act[], apis: readonly Api[] = [first, second]) => {
  const answered = await Promise.all(
    acts.map(async (act, index): Promise<Answered> => {
      const api = apis[index % apis.length] ?? first
      return { ...act, api, answer: await verify(api, act) }
    }),
  )
  const busy = answered.filter(({ answer }) => answer.status !== 200)
  for (const { answer } of busy) assertRefusal(answer, 409, 'network_busy')
  return { minted: answered.filter(({ answer }) => answer.status === 200), busy }
}
const countOf = (acts: readonly Act[], { agentId }: LiveAgent): number =>
  acts.filter(({ agent }) => agent.agentId === agentId).length
const interleaved = (one: readonly Act[], two: readonly Act[]): Act[] =>
  // Pairs, so that each process gets as many calls of either agent.
  one.flatMap((act, index) => {
    const other = two[index]
    return other === undefined ? [act] : index % 2 === 0 ? [act, other] : [other, act]
  })

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
  const address = '203.0.113.9'
  assert.equal((await verifyAll(await actsOf(greedy, address, 40))).minted.length, 15)
  assert.equal((await verifyAll(await actsOf(neighbour, address, 16))).minted.length, 15)
  assert.deepEqual(await findCounterFaults(harness), [])
})

const address = '203.0.113.7'
const [one, two, late] = [
  await registerPayingAgent(harness),
  await registerPayingAgent(harness),
  await registerPayingAgent(harness),
]
/** Acts that no process has refused yet, and those that only the first one has. */
const waiting = { one: [] as Act[], two: [] as Act[], refused: [] as Act[] }

test('one address has 30 in a clock hour and one agent 15 of them, at 100 parallel, and no more after SIGKILL', async () => {
  await moveClockTo(harness, 9, 20)
  const [ofOne, ofTwo] = [await actsOf(one, address, 65), await actsOf(two, address, 65)]
  const { minted, busy } = await verifyAll(interleaved(ofOne.slice(0, 50), ofTwo.slice(0, 50)))
  assert.deepEqual([countOf(minted, one), countOf(minted, two), busy.length], [15, 15, 70])
  for (const { answer } of busy) {
    const seconds = Number(answer.headers['retry-after'])
    assert.ok(seconds > 35 * 60 && seconds <= 40 * 60, `Retry-After: ${seconds}`)
  }
  for (const agent of [one, two]) assert.deepEqual(await spentBy(agent), [15, 15], 'a refused call is free')

  await second.kill()
  await second.restart()
  const refusedByFirst = busy.filter(({ api }) => api === first)
  assert.ok(refusedByFirst.length >= 20)
  const ofLate = await actsOf(late, address, 2)
  assert.equal((await verifyAll([...refusedByFirst, ...ofLate], [second])).minted.length, 0)
  assert.deepEqual(await spentBy(late), [0, 0], 'all agents together have 30')
  assert.deepEqual(await findCounterFaults(harness), [])
  waiting.one = ofOne.slice(50)
  waiting.two = ofTwo.slice(50)
  // The restarted process has not seen these, and the first one would remember for ten seconds what it refused.
  waiting.refused = busy.filter(({ api }) => api === second)
})

test('the next hour has 30 again, and a process that is killed while it mints takes no place without a credential', async () => {
  await harness.advance(hourMs)
  const calls = waiting.refused.map((act, index) =>
    verify(index % 2 === 0 ? first : second, act).catch(() => undefined),
  )
  await Promise.race(calls)
  await second.kill()
  await Promise.all(calls)
  // What the killed process was doing has ended when others have got the locks of the same counters.
  await verifyAll(interleaved(waiting.one, waiting.two), [first])
  for (const agent of [one, two]) assert.deepEqual(await spentBy(agent), [30, 30])
  assert.deepEqual(await findCounterFaults(harness), [])
  const { rows } = await harness.owner.query<{ used: number; hours: number[] }>(
    `select used, array(select unnest(hours)) as hours from root_counters
     where spender = '' and tag in (select unnest(narrow_tags) from root_sessions where session_id = $1)`,
    [waiting.one[0]?.sessionId],
  )
  assert.deepEqual(rows, [{ used: 60, hours: [30, 30] }])
})
