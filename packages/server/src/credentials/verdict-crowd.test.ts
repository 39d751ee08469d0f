// What a crowd at the edge of a budget is told, and what it then gets: over two apis, up to the last second of the promise.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sendTo, startHarness, type TestResponse } from '../../test/fixtures/harness.ts'
import {
  browseFrom,
  budgetSettings,
  findCounterFaults,
  makeSeenSessions,
  moveClockTo,
  registerPayingAgent,
  type LiveAgent,
} from '../../test/fixtures/networks.ts'
import { makeAttestedModel } from '../../test/fixtures/people/attested-model.ts'
import { makeSessionKey, openRecorder, type Recorder } from '../../test/fixtures/people/recorder.ts'
import { openSecurityKey } from '../../test/fixtures/people/security-key.ts'
import { passFinishedSessions } from '../../test/fixtures/scored-session.ts'
import { buildApp, buildContext } from '../wiring/index.ts'

const model = await makeAttestedModel()
after(() => model.close())
const harness = await startHarness({ ...budgetSettings, ...model.settings })
const seen = makeSeenSessions(harness)
const agents = [await registerPayingAgent(harness), await registerPayingAgent(harness)] as const

/** A second api with connections, keys and queues of its own. */
const openApi = async () => {
  const ctx = buildContext({ ...harness.ctx, name: 'pohf-second' })
  const app = buildApp(ctx)
  await Promise.all([app.api.ready(), app.operator.ready()])
  after(async () => {
    await Promise.all([app.api.close(), app.operator.close()])
    await ctx.db.end()
  })
  return sendTo(app.api)
}
const calls = [harness.call, await openApi()] as const

type Visitor = {
  readonly agent: LiveAgent
  readonly recorder: Recorder
  readonly verify: () => Promise<TestResponse>
}
const key = await makeSessionKey()

/** People of two sites at one address who finished and whose sessions count as verified. Nothing is held for them yet. */
const gather = async (count: number, address: string, ofAgents: readonly LiveAgent[]): Promise<Visitor[]> => {
  const visitors = await Promise.all(
    Array.from({ length: count }, async (_, index): Promise<Visitor> => {
      const agent = ofAgents[index % ofAgents.length] ?? agents[0]
      const call = calls[Math.floor(index / 2) % 2] ?? harness.call
      const send = browseFrom({ ...harness, call }, address).call
      const recorder = await openRecorder({ send, site: agent.agentId, key })
      const { json, text } = await recorder.finish()
      assert.equal(json.verdict, 'retry', text)
      const { sessionId } = recorder
      const verify = () => call('POST', '/api/agents/verify', { key: agent.apiKey, body: { sessionId } })
      return { agent, recorder, verify }
    }),
  )
  await passFinishedSessions(
    harness,
    visitors.map(({ recorder }) => recorder.sessionId),
  )
  return visitors
}

type Told = Visitor & { readonly told: TestResponse }
/** Asks for all verdicts at once. */
const tellAll = (visitors: readonly Visitor[]): Promise<Told[]> =>
  Promise.all(visitors.map(async (visitor) => ({ ...visitor, told: await visitor.recorder.finishAgain() })))
const passedOf = (told: readonly Told[]): Told[] =>
  told.filter(({ told: { json } }) => json.verdict === 'passed')
/** Mints all at once; returns the statuses of those who were told this. */
const mintAll = async (told: readonly Told[]) => {
  const answers = await Promise.all(
    told.map(async ({ told: { json }, verify }) => ({
      verdict: json.verdict as string,
      answer: await verify(),
    })),
  )
  assert.deepEqual(await findCounterFaults(harness), [])
  return (verdict: string) =>
    answers.filter((one) => one.verdict === verdict).map(({ answer }) => answer.status)
}
const times = (count: number, status: number): number[] => Array.from({ length: count }, () => status)

for (const [name, count, [hours, minutes], others] of [
  ['in the same hour', 100, [9, 10], 409],
  ['in the next hour', 40, [9, 50], undefined],
  ['on the next day', 40, [23, 50], undefined],
] as const)
  test(`of ${count} people at an address with 10 places left, exactly those who were told "passed" mint ${name}`, async () => {
    await moveClockTo(harness, hours, minutes)
    const address = `198.51.100.${hours + minutes}`
    for (const agent of agents) {
      const spent = await seen(10, agent, address)
      for (const sessionId of spent)
        assert.equal(
          (await harness.call('POST', '/api/agents/verify', { key: agent.apiKey, body: { sessionId } }))
            .status,
          200,
        )
    }
    const told = await tellAll(await gather(count, address, agents))
    assert.equal(passedOf(told).length, 10)
    for (const { told: answer } of told)
      if (answer.json.verdict !== 'passed') {
        const { verdict, reasons, stepUp, retryAfter } = answer.json
        assert.deepEqual([verdict, reasons, stepUp.length], ['step_up', ['network_busy'], 1], answer.text)
        assert.ok(retryAfter > 0)
      }
    // Up to the last second: the clock runs on while the test calls.
    const [until = ''] = passedOf(told).map(({ told: { json } }) => json.validUntil as string)
    await harness.advance(Date.parse(until) - harness.ctx.clock.now().getTime() - 15_000)
    const statusesOf = await mintAll(told)
    assert.deepEqual(statusesOf('passed'), times(10, 200))
    if (others) assert.deepEqual(statusesOf('step_up'), times(count - 10, others))
  })

test('of 20 people who answer with one key that has one place left, one is told "passed" and mints at substantial', async () => {
  await moveClockTo(harness, 9, 10)
  const shop = await registerPayingAgent(harness)
  const policy = { view: { minAssurance: 'substantial' } }
  await harness.call('PATCH', '/api/agents/me', { key: shop.apiKey, body: { policy } })
  const visitors = await gather(20, '198.51.100.90', [shop])
  for (const { told } of await tellAll(visitors))
    assert.deepEqual([told.json.verdict, told.json.reasons], ['step_up', ['proof_needed']], told.text)
  const securityKey = openSecurityKey(harness, model)
  for (const { recorder } of visitors) {
    const { json, text } = await securityKey.attest(shop.apiKey, recorder.sessionId)
    assert.equal(json.attested, true, text)
  }
  const [first, ...rest] = visitors
  assert.ok(first)
  assert.equal((await first.recorder.finishAgain()).json.verdict, 'passed')
  assert.equal((await first.verify()).json.assurance, 'substantial')
  // The key has 60 places a day; all but one are taken.
  await harness.owner.query(
    'update root_counters set used = 59, hours = array_fill(59, array[1], array[array_lower(hours, 1)]) where day_limit = 60',
  )
  const told = await tellAll(rest)
  assert.equal(passedOf(told).length, 1)
  for (const { told: answer } of told)
    if (answer.json.verdict !== 'passed')
      assert.deepEqual([answer.json.verdict, answer.json.reasons], ['failed', ['network_busy']], answer.text)
  await harness.advance(14 * 60_000)
  const statusesOf = await mintAll(told)
  assert.deepEqual([statusesOf('passed'), statusesOf('failed')], [[200], times(18, 409)])
})
