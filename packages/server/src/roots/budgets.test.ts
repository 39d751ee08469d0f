import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startHarness } from '../../test/fixtures/harness.ts'
import {
  budgetSettings,
  findCounterFaults,
  makeSeenSessions,
  moveClockTo,
  registerPayingAgent,
  type LiveAgent,
} from '../../test/fixtures/networks.ts'
import { assertRefusal } from '../../test/fixtures/refusal.ts'
import { leastStatements } from '../../test/fixtures/plans/statements.ts'
import { buildApp, buildContext } from '../wiring/index.ts'

const harness = await startHarness(budgetSettings)
const seen = makeSeenSessions(harness)

/** A second api with connections, keys and queues of its own. */
const openApi = async () => {
  const ctx = buildContext({ ...harness.ctx, name: 'pohf-second' })
  const app = buildApp(ctx)
  await Promise.all([app.api.ready(), app.operator.ready()])
  after(async () => {
    await Promise.all([app.api.close(), app.operator.close()])
    await ctx.db.end()
  })
  return app.api
}
type Api = Awaited<ReturnType<typeof openApi>>

type Call = { readonly agent: LiveAgent; readonly sessionId: string }
const verify = async (api: Api, { agent, sessionId }: Call) => {
  const { statusCode, headers, body } = await api.inject({
    method: 'POST',
    url: '/api/agents/verify',
    headers: { authorization: `Bearer ${agent.apiKey}` },
    payload: { sessionId },
  })
  return {
    status: statusCode,
    headers: headers as Record<string, string>,
    text: body,
    json: JSON.parse(body),
  }
}
type Answer = Awaited<ReturnType<typeof verify>>

/** Verifies all at once over several apis; returns the calls that minted and those that got 409 network_busy. */
const verifyAll = async (apis: readonly Api[], calls: readonly Call[]) => {
  const answers = await Promise.all(
    calls.map((call, index) => verify(apis[index % apis.length] ?? harness.app.api, call)),
  )
  const minted: Call[] = []
  const busy: { call: Call; answer: Answer }[] = []
  for (const [index, answer] of answers.entries()) {
    const call = calls[index]
    if (!call) continue
    if (answer.status === 200) minted.push(call)
    else {
      assertRefusal(answer, 409, 'network_busy')
      busy.push({ call, answer })
    }
  }
  return { minted, busy }
}
const retryAfterOf = ({ answer }: { readonly answer: Answer }) => Number(answer.headers['retry-after'])
const spentBy = async ({ apiKey }: LiveAgent): Promise<number> =>
  1_000 - (await harness.call('GET', '/api/agents/credits/balance', { key: apiKey })).json.balance

test('from one address never more than 30 in a clock hour and 100 in a UTC day, at 100 parallel over two apis and across a restart', async () => {
  await moveClockTo(harness, 9, 20)
  const agents = await Promise.all([1, 2, 3, 4].map(() => registerPayingAgent(harness)))
  const calls: Call[] = []
  for (const agent of agents)
    for (const sessionId of await seen(30, agent, '203.0.113.7')) calls.push({ agent, sessionId })
  let apis: Api[] = [harness.app.api, await openApi()]
  let waiting = calls.toSorted((a, b) => (a.sessionId.at(-1) ?? '').localeCompare(b.sessionId.at(-1) ?? ''))
  const expected = [30, 30, 30, 10, 0]
  for (const [hour, count] of expected.entries()) {
    const { minted, busy } = await verifyAll(apis, waiting.slice(0, 100))
    assert.equal(minted.length, count, `hour ${hour}`)
    assert.deepEqual(await findCounterFaults(harness), [])
    const period = hour < 3 ? 40 * 60 : (24 - 9 - hour) * 3_600 - 20 * 60
    for (const one of busy) {
      const until = hour < 3 ? 40 * 60 : period
      assert.ok(Math.abs(retryAfterOf(one) - until) < 120, `hour ${hour}: ${retryAfterOf(one)}`)
    }
    const done = new Set(minted)
    waiting = waiting.filter((call) => !done.has(call))
    await harness.advance(3_600_000)
    // A restart between two hours: the counters are the database's.
    apis = [harness.app.api, await openApi()]
  }
  assert.equal(
    (await Promise.all(agents.map(spentBy))).reduce((sum, one) => sum + one),
    100,
  )
  await moveClockTo(harness, 0, 30)
  const { minted, busy } = await verifyAll(apis, waiting)
  assert.deepEqual(
    [minted.length, busy.length],
    [20, 0],
    'the next day has its own budget: nobody is refused for good',
  )
})

test('an agent takes at most half of the budget of a network, and its neighbour the rest', async () => {
  await moveClockTo(harness, 9, 20)
  const [greedy, neighbour] = [await registerPayingAgent(harness), await registerPayingAgent(harness)]
  const address = '203.0.113.80'
  const first = (await seen(40, greedy, address)).map((sessionId) => ({ agent: greedy, sessionId }))
  assert.equal((await verifyAll([harness.app.api], first)).minted.length, 15)
  const second = (await seen(16, neighbour, address)).map((sessionId) => ({ agent: neighbour, sessionId }))
  assert.equal((await verifyAll([harness.app.api], second)).minted.length, 15)
  assert.deepEqual(await findCounterFaults(harness), [])
})

test('a refused mint spends nothing: neither a credit nor a place of the wider network', async () => {
  await moveClockTo(harness, 9, 20)
  const agent = await registerPayingAgent(harness)
  const calls = (await seen(20, agent, '198.51.100.9')).map((sessionId) => ({ agent, sessionId }))
  const { busy } = await verifyAll([harness.app.api], calls)
  assert.equal(busy.length, 5)
  assert.equal(await spentBy(agent), 15)
  const { rows } = await harness.owner.query(
    `select used, spender = '' as shared from root_counters where used > 0 and tag in (
       select unnest(narrow_tags || wide_tags) from root_sessions where session_id = $1) order by used`,
    [calls[0]?.sessionId],
  )
  assert.deepEqual(
    rows.map(({ used }) => used),
    [15, 15, 15, 15],
    'address and /24, of all agents and of this one',
  )
  const again = busy[0]
  assert.ok(again)
  await harness.advance(3_600_000)
  assert.equal((await verify(harness.app.api, again.call)).status, 200, 'the same session, without a new act')
})

test('a session that was refused is not signed for again at once', async () => {
  await moveClockTo(harness, 9, 20)
  const agent = await registerPayingAgent(harness)
  const calls = (await seen(16, agent, '198.51.100.77')).map((sessionId) => ({ agent, sessionId }))
  const { busy } = await verifyAll([harness.app.api], calls)
  const [refused] = busy
  assert.ok(refused)
  const used = await leastStatements(harness, async () =>
    assertRefusal(await verify(harness.app.api, refused.call), 409, 'network_busy'),
  )
  assert.ok(used <= 2, `${used} statements: at most the key and the reservation are looked up`)
})

test('a session that was refused shortly before the hour ends is minted when Retry-After has passed', async () => {
  await moveClockTo(harness, 9, 50)
  const agent = await registerPayingAgent(harness)
  const [last, ...calls] = (await seen(16, agent, '198.51.100.78')).map((sessionId) => ({ agent, sessionId }))
  assert.ok(last)
  assert.equal((await verifyAll([harness.app.api], calls)).minted.length, 15)
  // One call is left for the last seconds before the hour: a busy machine has time for it.
  await moveClockTo(harness, 9, 59)
  await harness.advance(52_000)
  const [refused] = (await verifyAll([harness.app.api], [last])).busy
  assert.ok(refused)
  const seconds = retryAfterOf(refused)
  assert.ok(seconds < 10, `${seconds} s: less than the 10 s for which a refusal is repeated`)
  await harness.advance(seconds * 1_000)
  assert.equal((await verify(harness.app.api, refused.call)).status, 200)
})

test('an agent without credits learns nothing about the network', async () => {
  const poor = await harness.register('live')
  const [sessionId = ''] = await seen(1, poor, '203.0.113.7')
  const { status, json } = await verify(harness.app.api, { agent: poor, sessionId })
  assert.deepEqual([status, json.error], [402, 'insufficient_credits'])
})
