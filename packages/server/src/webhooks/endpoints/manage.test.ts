import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inTransaction } from '../../platform/db/db.ts'
import { publish } from '../../platform/queue/outbox.ts'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { respondWith, startReceiver } from '../../../test/fixtures/webhook-receiver.ts'
import {
  dayMs,
  publishEvent,
  hourMs,
  registerIdleAgent,
  runUntilIdle,
  secondMs,
  statesOf,
  subscribe,
  type Agent,
} from '../../../test/fixtures/webhooks.ts'
import { retentionJob } from '../index.ts'

const harness = await startHarness()
const call = (agent: Agent, method: string, path: string, body?: unknown) =>
  harness.call(method, `/api/agents/${path}`, {
    key: agent.apiKey,
    ...(body === undefined ? {} : { body }),
  })
const listOf = async (agent: Agent) => (await call(agent, 'GET', 'webhooks')).json.webhooks
const deliveriesOf = async (agent: Agent, id: string, query = '') =>
  (await call(agent, 'GET', `webhooks/${id}/deliveries${query}`)).json.deliveries

test('the list shows every endpoint with its state and health, and never a secret', async () => {
  const agent = await registerIdleAgent(harness)
  assert.deepEqual(await listOf(agent), [])
  const [good, bad] = [await startReceiver(), await startReceiver(respondWith(503))]
  const first = await subscribe(harness, agent, good.url)
  const second = await subscribe(harness, agent, bad.url, ['key.revoked', 'key.revoked'])
  await publishEvent(harness, agent)
  await harness.runJobs()
  const answered = await call(agent, 'GET', 'webhooks')
  const [newer, older] = answered.json.webhooks
  assert.equal(older.id, first.id)
  assert.deepEqual([older.state, older.enabled, older.waiting], ['healthy', true, 0])
  assert.deepEqual([newer.state, newer.events, newer.waiting], ['failing', ['key.revoked'], 1])
  assert.ok(newer.failingSince)
  assert.equal(older.health.length, 1)
  assert.deepEqual([older.health[0].delivered, older.health[0].failed], [1, 0])
  assert.deepEqual([newer.health[0].delivered, newer.health[0].failed], [0, 1])
  for (const { signingSecret } of [first, second]) assert.ok(!answered.text.includes(signingSecret.slice(6)))
})

test('a change of URL or events applies from the next delivery on, and is validated as at registration', async () => {
  const agent = await registerIdleAgent(harness)
  const [old, next] = [await startReceiver(respondWith(500)), await startReceiver()]
  const { id } = await subscribe(harness, agent, old.url, ['key.revoked'])
  await publishEvent(harness, agent)
  await harness.runJobs()
  const changed = await call(agent, 'PATCH', `webhooks/${id}`, { url: next.url, events: ['key.rotated'] })
  assert.equal(changed.status, 200)
  assert.deepEqual(
    [changed.json.url, changed.json.events, changed.json.state],
    [next.url, ['key.rotated'], 'healthy'],
  )
  await publishEvent(harness, agent)
  await harness.advance(6 * secondMs)
  await harness.runJobs()
  assert.equal(
    next.received.length,
    1,
    'the pending delivery goes to the new URL, the new event has no subscription',
  )
  for (const [body, path] of [
    [{ url: 'https://10.0.0.1/' }, 'body.url'],
    [{ url: 'ftp://127.0.0.1/' }, 'body.url'],
    [{ events: [] }, 'body.events'],
    [{ enabled: 'yes' }, 'body.enabled'],
  ] as const) {
    const refused = await call(agent, 'PATCH', `webhooks/${id}`, body)
    assert.equal(refused.status, 400)
    assert.equal(refused.json.details[0].path, path)
  }
})

test('an endpoint that was switched off gets nothing, and recovery gives it everything that it missed, once', async () => {
  const agent = await registerIdleAgent(harness)
  const receiver = await startReceiver(respondWith(500))
  const { id } = await subscribe(harness, agent, receiver.url, ['key.revoked'])
  const since = new Date(harness.ctx.clock.now().getTime() - secondMs).toISOString()
  const waiting = await publishEvent(harness, agent)
  await harness.runJobs()
  const off = await call(agent, 'PATCH', `webhooks/${id}`, { enabled: false })
  assert.deepEqual([off.json.state, off.json.disabledReason, off.json.waiting], ['disabled', 'owner', 0])
  const missed = [await publishEvent(harness, agent), await publishEvent(harness, agent)]
  await harness.advance(hourMs)
  await harness.runJobs()
  assert.equal(receiver.received.length, 1)
  for (const path of ['test', 'rotate']) {
    const { status } = await call(agent, 'POST', `webhooks/${id}/${path}`)
    assert.equal(status, path === 'test' ? 403 : 200)
  }
  receiver.respond = respondWith(204)
  receiver.received.length = 0
  const recovered = await call(agent, 'POST', `webhooks/${id}/recover`, { since })
  assert.deepEqual(recovered.json, { id, recoveringSince: since })
  assert.equal((await listOf(agent))[0].recoveringSince, since)
  const later = await publishEvent(harness, agent)
  await harness.runJobs()
  assert.deepEqual(receiver.eventIds().toSorted(), [waiting, ...missed, later].toSorted())
  assert.equal((await listOf(agent))[0].recoveringSince, null)
  // A second recovery of the same time finds nothing to do.
  await call(agent, 'POST', `webhooks/${id}/recover`, { since })
  await harness.runJobs()
  assert.equal(receiver.received.length, 4)
})

test('a recovery processes more events than one step holds, and only those with a subscription', async () => {
  const agent = await registerIdleAgent(harness)
  const receiver = await startReceiver()
  const { id } = await subscribe(harness, agent, receiver.url, ['credits.exhausted'])
  await call(agent, 'PATCH', `webhooks/${id}`, { enabled: false })
  const since = new Date(harness.ctx.clock.now().getTime() - secondMs).toISOString()
  const subscribed: string[] = []
  await inTransaction(harness.ctx, agent.agentId, async (tx) => {
    for (let n = 0; n < 450; n++) {
      const { agentId, mode } = agent
      if (n % 3 === 0)
        subscribed.push(
          await publish(tx, { agentId, mode, type: 'credits.exhausted', subject: 'x', data: { balance: n } }),
        )
      else await publish(tx, { agentId, mode, type: 'key.revoked', subject: 'x', data: { keyId: `${n}` } })
    }
  })
  await harness.runJobs()
  await call(agent, 'POST', `webhooks/${id}/recover`, { since })
  await harness.runJobs()
  assert.deepEqual(receiver.eventIds().toSorted(), subscribed.toSorted())
})

test('a recovery reaches back 30 days and no further: beyond, delivered and missed events cannot be told apart', async () => {
  const agent = await registerIdleAgent(harness)
  const { id } = await subscribe(harness, agent, 'http://127.0.0.1:9/')
  const daysAgo = (days: number) => new Date(harness.ctx.clock.now().getTime() - days * dayMs).toISOString()
  assert.equal((await call(agent, 'POST', `webhooks/${id}/recover`, { since: daysAgo(29.9) })).status, 200)
  const refused = await call(agent, 'POST', `webhooks/${id}/recover`, { since: daysAgo(30.1) })
  assert.equal(refused.status, 400)
  assert.equal(refused.json.details[0].path, 'body.since')
  assert.equal((await call(agent, 'POST', `webhooks/${id}/recover`, {})).status, 400)
})

test('a deleted endpoint is gone at once, with its secrets, and its rows follow', async () => {
  const agent = await registerIdleAgent(harness)
  const receiver = await startReceiver(respondWith(500))
  const { id } = await subscribe(harness, agent, receiver.url)
  await publishEvent(harness, agent)
  await harness.runJobs()
  const removed = await call(agent, 'DELETE', `webhooks/${id}`)
  assert.deepEqual([removed.status, removed.json], [200, { id, deleted: true }])
  assert.deepEqual(await listOf(agent), [])
  const { rows } = await harness.owner.query(
    'select url, secret_sealed from webhook_endpoints where endpoint_id = $1',
    [id],
  )
  assert.deepEqual(rows, [{ url: '', secret_sealed: '' }])
  for (const [method, path, body] of [
    ['DELETE', '', undefined],
    ['PATCH', '', { enabled: true }],
    ['POST', '/rotate', {}],
    ['POST', '/test', undefined],
    ['POST', '/recover', { since: new Date().toISOString() }],
    ['GET', '/deliveries', undefined],
  ] as const)
    assert.equal((await call(agent, method, `webhooks/${id}${path}`, body)).status, 404, `${method} ${path}`)
  await publishEvent(harness, agent)
  await harness.advance(hourMs)
  await harness.runJobs()
  await harness.runJobs()
  assert.equal(receiver.received.length, 1)
  assert.deepEqual(await statesOf(harness, id), [])
  const { rowCount } = await harness.owner.query('select from webhook_endpoints where endpoint_id = $1', [id])
  assert.equal(rowCount, 0)
})

test('the deliveries log names every attempt and why it failed, newest first, page by page', async () => {
  const agent = await registerIdleAgent(harness)
  const receiver = await startReceiver(respondWith(404))
  const { id } = await subscribe(harness, agent, receiver.url, ['key.revoked'])
  const ids: string[] = []
  for (let n = 0; n < 3; n++) {
    ids.push(await publishEvent(harness, agent))
    await harness.advance(10)
  }
  await harness.runJobs()
  receiver.respond = respondWith(204)
  await harness.advance(30 * secondMs)
  await harness.runJobs()
  const all = await deliveriesOf(agent, id)
  assert.deepEqual(
    all.map((one: { eventId: string }) => one.eventId),
    ids.toReversed(),
  )
  const [newest] = all
  assert.deepEqual([newest.type, newest.state, newest.nextAttemptAt], ['key.revoked', 'delivered', null])
  assert.deepEqual(
    newest.attempts.map(({ attempt, outcome, status }: Record<string, unknown>) => [
      attempt,
      outcome,
      status,
    ]),
    [
      [1, 'failed', 404],
      [2, 'delivered', 204],
    ],
  )
  assert.match(newest.attempts[0].why, /nothing at this path/)
  assert.equal(newest.attempts[1].why, null)
  const first = await call(agent, 'GET', `webhooks/${id}/deliveries?limit=2`)
  assert.equal(first.json.hasMore, true)
  const second = await call(
    agent,
    'GET',
    `webhooks/${id}/deliveries?limit=2&cursor=${String(first.json.nextCursor)}`,
  )
  assert.deepEqual(
    [...first.json.deliveries, ...second.json.deliveries].map(({ eventId }) => eventId),
    ids.toReversed(),
  )
  assert.deepEqual([second.json.hasMore, second.json.nextCursor], [false, null])
  assert.deepEqual(await deliveriesOf(agent, id, '?state=dead'), [])
  assert.equal((await deliveriesOf(agent, id, '?state=delivered')).length, 3)
  for (const query of ['?state=lost', '?limit=0', '?limit=101', '?cursor=nonsense'])
    assert.equal((await call(agent, 'GET', `webhooks/${id}/deliveries${query}`)).status, 400, query)
})

test('a replay sends the same id and body again, whatever became of the delivery, and the waits start anew', async () => {
  const agent = await registerIdleAgent(harness)
  const receiver = await startReceiver()
  const { id } = await subscribe(harness, agent, receiver.url, ['key.revoked'])
  const eventId = await publishEvent(harness, agent)
  await harness.runJobs()
  const [delivery] = await deliveriesOf(agent, id)
  receiver.respond = respondWith(500)
  const replayed = await call(agent, 'POST', `webhooks/deliveries/${delivery.id}/replay`)
  assert.deepEqual(replayed.json, { id: delivery.id, eventId, state: 'pending' })
  await harness.runJobs()
  // The second attempt of the plan is 5 s away again, and a replay need not wait for it.
  await call(agent, 'POST', `webhooks/deliveries/${delivery.id}/replay`)
  await harness.runJobs()
  receiver.respond = respondWith(204)
  await harness.advance(6 * secondMs)
  await harness.runJobs()
  assert.deepEqual(receiver.eventIds(), [eventId, eventId, eventId, eventId])
  assert.equal(new Set(receiver.received.map(({ body }) => body)).size, 1)
  assert.deepEqual(await statesOf(harness, id), ['delivered'])
})

test('a test event reaches its endpoint alone, is sent once, and is in no list of events', async () => {
  const agent = await registerIdleAgent(harness, 'live')
  const [one, other] = [await startReceiver(respondWith(500)), await startReceiver()]
  const { id } = await subscribe(harness, agent, one.url, ['key.revoked'])
  await subscribe(harness, agent, other.url)
  const { json } = await call(agent, 'POST', `webhooks/${id}/test`)
  await harness.runJobs()
  await harness.advance(hourMs / 2)
  await harness.runJobs()
  assert.deepEqual(one.eventIds(), [json.eventId])
  const envelope = JSON.parse(one.received[0]?.body ?? '')
  assert.deepEqual([envelope.type, envelope.data], ['endpoint.test', { endpointId: id, reason: 'requested' }])
  assert.equal(other.received.length, 0)
  const [delivery] = await deliveriesOf(agent, id)
  assert.deepEqual([delivery.id, delivery.state], [json.deliveryId, 'dead'])
})

const strip = (text: string) => text.replaceAll(/req_[\w-]+/g, '')

test('what belongs to another agent, or to the other mode, answers like what does not exist', async () => {
  const [agent, stranger] = [await registerIdleAgent(harness), await registerIdleAgent(harness)]
  const receiver = await startReceiver()
  const { id } = await subscribe(harness, agent, receiver.url)
  await publishEvent(harness, agent)
  await harness.runJobs()
  const [delivery] = await deliveriesOf(agent, id)
  for (const [method, path, body] of [
    ['PATCH', 'webhooks/ID', { enabled: false }],
    ['DELETE', 'webhooks/ID', undefined],
    ['POST', 'webhooks/ID/rotate', {}],
    ['POST', 'webhooks/ID/test', undefined],
    ['POST', 'webhooks/ID/recover', { since: harness.ctx.clock.now().toISOString() }],
    ['GET', 'webhooks/ID/deliveries', undefined],
  ] as const) {
    const foreign = await call(stranger, method, path.replace('ID', id), body)
    const unknown = await call(stranger, method, path.replace('ID', 'whk_none'), body)
    assert.equal(foreign.status, 404, path)
    assert.equal(strip(foreign.text), strip(unknown.text))
  }
  const replays = await Promise.all(
    [delivery.id, 'dlv_none'].map((one) => call(stranger, 'POST', `webhooks/deliveries/${one}/replay`)),
  )
  assert.deepEqual(
    replays.map(({ status }) => status),
    [404, 404],
  )
  assert.deepEqual((await listOf(agent))[0].state, 'healthy')
  await harness.runJobs()
  assert.equal(receiver.received.length, 1)
})

test('an agent that has 50 endpoints on cannot switch on one more', async () => {
  const agent = await registerIdleAgent(harness)
  const { id } = await subscribe(harness, agent, 'http://127.0.0.1:9/')
  await call(agent, 'PATCH', `webhooks/${id}`, { enabled: false })
  for (let n = 0; n < 50; n++) await subscribe(harness, agent, 'http://127.0.0.1:9/')
  for (const [method, path, body] of [
    ['PATCH', '', { enabled: true }],
    ['POST', '/recover', { since: harness.ctx.clock.now().toISOString() }],
  ] as const)
    assert.equal((await call(agent, method, `webhooks/${id}${path}`, body)).json.error, 'forbidden')
})

test('hourly health older than a week is deleted, however much there is', async () => {
  const agent = await registerIdleAgent(harness)
  await harness.owner.query(
    `insert into webhook_health (agent_id, endpoint_id, hour)
     select $1, 'whk_old', pohf_now() - interval '6 days 23 hours' - make_interval(hours => n) from generate_series(0, 2500) n`,
    [agent.agentId],
  )
  await runUntilIdle(retentionJob(harness.ctx))
  const { rowCount } = await harness.owner.query('select from webhook_health where agent_id = $1', [
    agent.agentId,
  ])
  assert.equal(rowCount, 1)
})
