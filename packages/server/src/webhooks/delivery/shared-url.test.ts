import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness, type Harness } from '../../../test/fixtures/harness.ts'
import { respondWith, startReceiver } from '../../../test/fixtures/webhook-receiver.ts'
import {
  attemptsOf,
  dayMs,
  endpointOf,
  hourMs,
  isSigned,
  isSignedAmongOthers,
  makeWebhookJobRunner,
  publishEvent,
  registerIdleAgent,
  runUntilIdle,
  secondMs,
  statesOf,
  subscribe,
  type Agent,
} from '../../../test/fixtures/webhooks.ts'
import { recoveryJob } from '../endpoints/recover.ts'

const subscribeMany = async (
  harness: Harness,
  agent: Agent,
  urls: readonly string[],
  events: readonly string[] = ['key.revoked'],
) => {
  const endpoints: Awaited<ReturnType<typeof subscribe>>[] = []
  for (const url of urls) endpoints.push(await subscribe(harness, agent, url, events))
  return endpoints
}
const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value)
const change = (harness: Harness, agent: Agent, id: string, body: Record<string, unknown>) =>
  harness.call('PATCH', `/api/agents/webhooks/${id}`, { key: agent.apiKey, body })

test('fifty endpoints on one URL get each event in one request that every one of them can verify', async () => {
  const harness = await startHarness()
  const victim = await startReceiver()
  const agent = await registerIdleAgent(harness)
  const endpoints = await subscribeMany(harness, agent, times(50, victim.url), ['*'])
  assert.equal(new Set(endpoints.map(({ signingSecret }) => signingSecret)).size, 50)
  await harness.runJobs()
  victim.received.length = 0
  for (let i = 0; i < 10; i++)
    await harness.call('POST', '/api/agents/verify', { key: agent.apiKey, body: { sessionId: `visit ${i}` } })
  await harness.runJobs()
  const { rows } = await harness.owner.query(
    'select count(distinct event_id)::int as events, count(*)::int as deliveries from webhook_deliveries where agent_id = $1',
    [agent.agentId],
  )
  assert.deepEqual(rows, [{ events: 20, deliveries: 1_000 }])
  assert.equal(victim.received.length, 20, 'requests at the victim')
  for (const received of victim.received)
    for (const { signingSecret } of endpoints) assert.ok(isSignedAmongOthers(signingSecret, received))
  for (const { id } of endpoints.slice(0, 3)) {
    assert.deepEqual(await statesOf(harness, id), times(20, 'delivered'))
    assert.equal((await attemptsOf(harness, id)).length, 20)
  }
})

test('a URL is the same however it is written; another query is another URL', async () => {
  const harness = await startHarness()
  const receiver = await startReceiver()
  const agent = await registerIdleAgent(harness)
  const { port } = new URL(receiver.url)
  for (const url of [
    receiver.url,
    `${receiver.url}#one`,
    `${receiver.url}?`,
    `HTTP://0x7f.1:${port}/./hook`,
    `http://127.0.0.1:0${port}/a/../hook?#two`,
  ])
    await subscribe(harness, agent, url)
  await subscribe(harness, agent, `${receiver.url}?x=1`)
  await publishEvent(harness, agent)
  await harness.runJobs()
  assert.equal(receiver.received.length, 2)
})

test('agents, and endpoints that did not subscribe to the event, share nothing', async () => {
  const harness = await startHarness()
  const receiver = await startReceiver()
  const [agent, other] = [await registerIdleAgent(harness), await registerIdleAgent(harness)]
  const { signingSecret } = await subscribe(harness, agent, receiver.url)
  const narrow = await subscribe(harness, agent, receiver.url, ['key.rotated'])
  const foreign = await subscribe(harness, other, receiver.url)
  await publishEvent(harness, agent)
  await harness.runJobs()
  assert.equal(receiver.received.length, 1)
  const [received] = receiver.received
  assert.ok(received && isSigned(signingSecret, received))
  assert.deepEqual(await statesOf(harness, narrow.id), [])
  await publishEvent(harness, other)
  await harness.runJobs()
  assert.equal(receiver.received.length, 2)
  const second = receiver.received[1]
  assert.ok(second && isSigned(foreign.signingSecret, second))
})

test('a failure counts for every endpoint of the request, and so do its retries', async () => {
  const harness = await startHarness()
  const runWebhookJobs = makeWebhookJobRunner(harness)
  const receiver = await startReceiver(respondWith(500))
  const agent = await registerIdleAgent(harness)
  const endpoints = await subscribeMany(harness, agent, times(3, receiver.url))
  await publishEvent(harness, agent)
  await runWebhookJobs()
  await harness.advance(6 * secondMs)
  await runWebhookJobs()
  assert.equal(receiver.received.length, 2)
  for (const { id } of endpoints) {
    assert.ok((await endpointOf(harness, id))?.failing_since)
    const { json } = await harness.call('GET', `/api/agents/webhooks/${id}/deliveries`, {
      key: agent.apiKey,
    })
    const [delivery] = json.deliveries
    assert.equal(delivery.attempts.length, 2)
    const waitMs = Date.parse(delivery.nextAttemptAt) - Date.parse(delivery.attempts[1].at)
    assert.ok(waitMs > 250 * secondMs && waitMs < 350 * secondMs, `next attempt after ${waitMs} ms`)
  }
  receiver.respond = respondWith(204)
  await harness.advance(0.1 * hourMs)
  await runWebhookJobs()
  assert.equal(receiver.received.length, 3)
  for (const { id } of endpoints) {
    assert.deepEqual(await statesOf(harness, id), ['delivered'])
    assert.equal((await endpointOf(harness, id))?.failing_since, null)
  }
})

test('410 disables every endpoint of the request', async () => {
  const harness = await startHarness()
  const receiver = await startReceiver(respondWith(410))
  const agent = await registerIdleAgent(harness)
  const endpoints = await subscribeMany(harness, agent, times(3, receiver.url))
  await publishEvent(harness, agent)
  await harness.runJobs()
  assert.equal(receiver.received.length, 1)
  for (const { id } of endpoints) {
    assert.equal((await endpointOf(harness, id))?.disabled_reason, 'gone')
    assert.deepEqual(await statesOf(harness, id), ['dead'])
  }
})

for (const [name, body] of [
  ['is disabled', { enabled: false }],
  ['moves to another URL', { url: 'http://127.0.0.1:9/' }],
] as const)
  test(`the other endpoints still get the event, in one request, when the oldest ${name}`, async () => {
    const harness = await startHarness()
    const runWebhookJobs = makeWebhookJobRunner(harness)
    const receiver = await startReceiver(respondWith(500))
    const agent = await registerIdleAgent(harness)
    const [oldest, ...others] = await subscribeMany(harness, agent, times(4, receiver.url))
    assert.ok(oldest)
    const eventId = await publishEvent(harness, agent)
    await runWebhookJobs()
    assert.equal((await change(harness, agent, oldest.id, body)).status, 200)
    receiver.respond = respondWith(204)
    await harness.advance(6 * secondMs)
    await runWebhookJobs()
    assert.deepEqual(receiver.eventIds(), [eventId, eventId])
    const received = receiver.received[1]
    assert.ok(received)
    assert.equal(isSignedAmongOthers(oldest.signingSecret, received), false)
    for (const { id, signingSecret } of others) {
      assert.ok(isSignedAmongOthers(signingSecret, received))
      assert.deepEqual(await statesOf(harness, id), ['delivered'])
    }
    await harness.advance(5 * dayMs)
    await runWebhookJobs()
    assert.equal(receiver.received.length, 2, 'a delivery that was carried is not sent by itself')
  })

test('endpoints that move to one URL, or are recovered there, share the requests for what they missed', async () => {
  const harness = await startHarness()
  const runWebhookJobs = makeWebhookJobRunner(harness)
  const victim = await startReceiver(respondWith(500))
  const agent = await registerIdleAgent(harness)
  const urls = [1, 2, 3, 4, 5].map((n) => `http://127.0.0.1:9/${n}`)
  const endpoints = await subscribeMany(harness, agent, urls)
  for (let i = 0; i < 4; i++) await publishEvent(harness, agent)
  await runWebhookJobs()
  const since = new Date(Date.now() - hourMs).toISOString()
  for (const { id } of endpoints) await change(harness, agent, id, { url: victim.url })
  const { rows: pending } = await harness.owner.query(
    "select count(*) filter (where sent_with is null)::int as sent, count(*)::int as all from webhook_deliveries where state = 'pending'",
  )
  assert.deepEqual(pending, [{ sent: 4, all: 20 }])
  // Disabled, they miss an event; a recovery queues it, and the four that died.
  for (const { id } of endpoints) await change(harness, agent, id, { enabled: false })
  await publishEvent(harness, agent)
  await harness.runJobs()
  victim.respond = respondWith(204)
  for (const { id } of endpoints) {
    const { status, text } = await harness.call('POST', `/api/agents/webhooks/${id}/recover`, {
      key: agent.apiKey,
      body: { since },
    })
    assert.equal(status, 200, text)
  }
  await runUntilIdle(recoveryJob(harness.ctx))
  await runWebhookJobs()
  const counts = Map.groupBy(victim.eventIds(), (id) => id)
  assert.deepEqual(
    [...counts.values()].map((ids) => ids.length),
    [1, 1, 1, 1, 1],
  )
})
