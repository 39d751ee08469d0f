import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { respondWith, startReceiver } from '../../../test/fixtures/webhook-receiver.ts'
import {
  drainEvents,
  makeWebhookJobRunner,
  noContact,
  proveEndpoints,
  publishEvent,
  registerIdleAgent,
  runUntilIdle,
  secondMs,
  statesOf,
  subscribe,
} from '../../../test/fixtures/webhooks.ts'
import { claimBatch, deliveryJob } from './deliver.ts'
import { sendToUnproven } from './unproven.ts'

const minuteMs = 60 * secondMs

test('a host that never answers 2xx gets one request at a time and 30 in ten minutes, whoever names it', async () => {
  const harness = await startHarness()
  const runWebhookJobs = makeWebhookJobRunner(harness)
  const victim = await startReceiver(respondWith(404))
  const agents = []
  for (let i = 0; i < 3; i++) agents.push(await registerIdleAgent(harness))
  for (const agent of agents) {
    for (let i = 0; i < 20; i++) await subscribe(harness, agent, `${victim.url}/${agent.agentId}?x=${i}`)
    for (let i = 0; i < 5; i++) await publishEvent(harness, agent)
  }
  for (let step = 0; step < 9; step++) {
    await runWebhookJobs()
    await harness.advance(minuteMs)
  }
  assert.equal(victim.concurrentMax, 1)
  assert.equal(victim.received.length, 30)
  // No attempt was counted for what waits, and the next window has its own failures.
  await harness.advance(2 * minuteMs)
  await runWebhookJobs()
  assert.ok(victim.received.length > 30 && victim.received.length <= 60)
})

test("another agent's receiver that has answered is not limited by the failures at its host", async () => {
  const harness = await startHarness()
  const runWebhookJobs = makeWebhookJobRunner(harness)
  const refused: ServerResponse[] = []
  const host = await startReceiver()
  const [owner, attacker] = [await registerIdleAgent(harness), await registerIdleAgent(harness)]
  const { id } = await subscribe(harness, owner, `${host.url}/mine`)
  await proveEndpoints(harness, owner, [id])
  host.received.length = 0
  host.respond = (response, { body }) => {
    if (body.includes(attacker.agentId)) refused.push(response.writeHead(500).end())
    else response.writeHead(204).end()
  }
  for (let i = 0; i < 40; i++) await subscribe(harness, attacker, `${host.url}?x=${i}`)
  await publishEvent(harness, attacker)
  for (let step = 0; step < 5; step++) {
    await runWebhookJobs()
    await harness.advance(6 * secondMs)
  }
  assert.equal(refused.length, 10, 'one agent may use up a third of the failures of a host')
  for (let i = 0; i < 20; i++) await publishEvent(harness, owner)
  await runWebhookJobs()
  assert.deepEqual(
    await statesOf(harness, id),
    Array.from({ length: 21 }, () => 'delivered'),
  )
  // A new receiver at the host waits for nobody either: one agent cannot use up the failures of the others.
  const late = await subscribe(harness, owner, `${host.url}/new`, ['key.revoked'])
  await publishEvent(harness, owner)
  await runWebhookJobs()
  assert.deepEqual(await statesOf(harness, late.id), ['delivered'])
})

test('two workers send one request at a time to a host whose receivers have not answered', async () => {
  const harness = await startHarness()
  const held: ServerResponse[] = []
  const victim = await startReceiver((response) => held.push(response))
  const agent = await registerIdleAgent(harness)
  for (let i = 0; i < 6; i++) await subscribe(harness, agent, `${victim.url}?x=${i}`)
  await publishEvent(harness, agent)
  await drainEvents(harness)
  const workers = [deliveryJob(harness.ctx, noContact), deliveryJob(harness.ctx, noContact)]
  for (let i = 0; i < 4; i++) await Promise.all(workers.map((worker) => worker.run()))
  assert.equal(held.length, 1)
  victim.respond = respondWith(204)
  held[0]?.writeHead(204).end()
  await Promise.all(workers.map(runUntilIdle))
  for (let step = 0; step < 6; step++) {
    await harness.advance(6 * secondMs)
    await Promise.all(workers.map(runUntilIdle))
  }
  assert.equal(victim.received.length, 6)
  assert.equal(victim.concurrentMax, 1)
})

test('a 2xx proves the URL that answered, not the one that the endpoint has by then', async () => {
  const harness = await startHarness()
  const runWebhookJobs = makeWebhookJobRunner(harness)
  const own = await startReceiver()
  const victim = await startReceiver(respondWith(500))
  const agent = await registerIdleAgent(harness)
  const { id } = await subscribe(harness, agent, own.url)
  const hasAnswered = async () => {
    const { rows } = await harness.owner.query(
      'select proven_at is not null as answered from webhook_endpoints where endpoint_id = $1',
      [id],
    )
    return rows[0].answered as boolean
  }
  const move = (url: string) =>
    harness.call('PATCH', `/api/agents/webhooks/${id}`, { key: agent.apiKey, body: { url } })
  own.respond = (response) =>
    void move(victim.url).then(() => {
      response.writeHead(204).end()
    })
  await publishEvent(harness, agent)
  await runWebhookJobs()
  assert.equal(own.received.length, 1)
  assert.equal(await hasAnswered(), false)
  own.respond = respondWith(204)
  await move(own.url)
  await publishEvent(harness, agent)
  await runWebhookJobs()
  assert.equal(await hasAnswered(), true)
  await move(`${own.url}#again`)
  assert.equal(await hasAnswered(), true, 'the same URL has answered before')
  await subscribe(harness, agent, own.url)
  await move(victim.url)
  assert.equal(await hasAnswered(), false)
  await move(own.url)
  assert.equal(await hasAnswered(), true, 'another endpoint of the agent has shown it')
})

test('an agent that points many host names at one address gets one request at a time there, and ten failures', async () => {
  const harness = await startHarness({ BASE_URL: 'https://pohf.example.org' })
  const [agent, other] = [await registerIdleAgent(harness), await registerIdleAgent(harness)]
  for (const owner of [agent, other]) {
    for (let i = 0; i < 14; i++) await subscribe(harness, owner, `https://n${i}.example.com/${owner.agentId}`)
    await publishEvent(harness, owner)
  }
  await drainEvents(harness)
  const { claimed: claims } = await claimBatch(harness.ctx, 100)
  assert.equal(claims.length, 28)
  // The receiver's side of the connection is what is replaced here: nothing in a test reaches a public address.
  const attempt = (claimed: (typeof claims)[number], meanwhile = async () => {}) => {
    assert.ok(claimed.hostLimit)
    return sendToUnproven(
      harness.ctx,
      { ...claimed, hostLimit: claimed.hostLimit },
      1_000,
      async (options) => {
        try {
          await options.beforeConnect('2600:1901::1')
          await meanwhile()
        } catch {
          return { reply: { fault: 'refused' }, durationMs: 1 }
        }
        return { reply: { status: 500, retryAfter: undefined }, durationMs: 1 }
      },
    )
  }
  const mine = claims.filter(({ agentId }) => agentId === agent.agentId)
  const theirs = claims.filter(({ agentId }) => agentId === other.agentId)
  const [first, second, ...rest] = mine
  assert.ok(first && second)
  await attempt(first, async () => {
    assert.deepEqual(await attempt(second), { waitMs: 5_000 }, 'a second request while the first is open')
  })
  const results = []
  for (const claimed of rest) results.push(await attempt(claimed))
  assert.equal(results.filter((result) => 'reply' in result).length, 9)
  assert.ok(results.every((result) => 'reply' in result || result.waitMs > 500 * secondMs))
  const [stranger] = theirs
  assert.ok(stranger)
  assert.ok('reply' in (await attempt(stranger)), 'another agent has its own limit at an address')
})
