import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { eventEnvelope } from '@pohf/protocol'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { respondWith, startReceiver } from '../../../test/fixtures/webhook-receiver.ts'
import {
  attemptsOf,
  dayMs,
  endpointOf,
  publishEvent,
  signatureHeaders,
  hourMs,
  isSigned,
  registerIdleAgent,
  secondMs,
  statesOf,
  subscribe,
  makeWebhookJobRunner,
} from '../../../test/fixtures/webhooks.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { drainOutbox, type OutboxRow } from '../../platform/queue/outbox.ts'
import { fanOut } from './fan-out.ts'

test('a delivery carries the event, signed so that our own code and standardwebhooks both accept it', async () => {
  const harness = await startHarness()
  const receiver = await startReceiver()
  const agent = await registerIdleAgent(harness)
  const { signingSecret } = await subscribe(harness, agent, `${receiver.url}?tag=ü`)
  const eventId = await publishEvent(harness, agent, 'key_ünïcode')
  await harness.runJobs()

  assert.equal(receiver.received.length, 1)
  const [received] = receiver.received
  assert.ok(received)
  assert.equal(received.headers['webhook-id'], eventId)
  assert.equal(received.headers['content-type'], 'application/json')
  assert.equal(received.headers['x-service-signature'], received.headers['webhook-signature'])
  assert.ok(Math.abs(Number(received.headers['webhook-timestamp']) - Date.now() / 1_000) < 60)
  const envelope = eventEnvelope.parse(JSON.parse(received.body))
  assert.deepEqual(Object.keys(JSON.parse(received.body)), [
    'id',
    'type',
    'timestamp',
    'test',
    'apiVersion',
    'agentId',
    'data',
  ])
  assert.deepEqual(
    { ...envelope, timestamp: '' },
    {
      id: eventId,
      type: 'key.revoked',
      timestamp: '',
      test: true,
      apiVersion: '1.0.0',
      agentId: agent.agentId,
      data: { keyId: 'key_ünïcode' },
    },
  )

  assert.equal(isSigned(signingSecret, received), true)
  const oracle = new Webhook(signingSecret)
  assert.deepEqual(oracle.verify(received.body, signatureHeaders(received)), JSON.parse(received.body))
  const renamed = {
    ...signatureHeaders(received),
    'webhook-signature': String(received.headers['x-service-signature']),
  }
  oracle.verify(received.body, renamed)
  // Both checks can fail: a changed byte, another secret.
  const changed = { ...received, body: received.body.replace('key_', 'kay_') }
  assert.equal(isSigned(signingSecret, changed), false)
  assert.throws(() => oracle.verify(changed.body, signatureHeaders(changed)))
  assert.throws(() =>
    new Webhook(`whsec_${Buffer.alloc(32).toString('base64')}`).verify(
      received.body,
      signatureHeaders(received),
    ),
  )
})

test('an event reaches endpoints of its own agent and mode that named it or *, and no other', async () => {
  const harness = await startHarness()
  const [agent, stranger, live] = [
    await registerIdleAgent(harness),
    await registerIdleAgent(harness),
    await registerIdleAgent(harness, 'live'),
  ]
  const [everything, named, otherName, foreign, otherMode] = await Promise.all(
    Array.from({ length: 5 }, () => startReceiver()),
  )
  assert.ok(everything && named && otherName && foreign && otherMode)
  await subscribe(harness, agent, everything.url)
  await subscribe(harness, agent, named.url, ['key.rotated', 'key.revoked'])
  await subscribe(harness, agent, otherName.url, ['key.rotated', 'credential.revoked'])
  await subscribe(harness, stranger, foreign.url)
  await subscribe(harness, live, otherMode.url)
  const eventId = await publishEvent(harness, agent)
  // An agent may publish in the other mode too: one test binding of a live agent.
  await publishEvent(harness, { ...live, mode: 'test' })
  await harness.runJobs()
  assert.deepEqual(everything.eventIds(), [eventId])
  assert.deepEqual(named.eventIds(), [eventId])
  for (const other of [otherName, foreign, otherMode]) assert.deepEqual(other.eventIds(), [])
  // Removed because nobody subscribed, not stuck because the database refused to mix modes.
  const { rows } = await harness.owner.query("select last_error from outbox where topic = 'event'")
  assert.deepEqual(rows, [])
})

test('a fan-out that runs again adds nothing, also after the delivery', async () => {
  const harness = await startHarness()
  const receiver = await startReceiver()
  const agent = await registerIdleAgent(harness)
  const { id } = await subscribe(harness, agent, receiver.url)
  await publishEvent(harness, agent)
  const handled: OutboxRow[] = []
  await drainOutbox(harness.ctx, 'event', {
    withinTransaction: async (tx, rows) => {
      await fanOut(tx, rows)
      await fanOut(tx, rows)
      handled.push(...rows)
    },
  })
  assert.deepEqual(await statesOf(harness, id), ['pending'])
  await harness.runJobs()
  const [row] = handled
  assert.ok(row)
  await Promise.all(
    Array.from({ length: 20 }, () => inTransaction(harness.ctx, 'system', (tx) => fanOut(tx, [row]))),
  )
  await harness.runJobs()
  assert.equal(receiver.received.length, 1)
})

test('a receiver that fails is tried again on the schedule until it succeeds, with the same id and body', async () => {
  const harness = await startHarness()
  const runWebhookJobs = makeWebhookJobRunner(harness)
  const receiver = await startReceiver(respondWith(500))
  const agent = await registerIdleAgent(harness)
  const { id, signingSecret } = await subscribe(harness, agent, receiver.url)
  await publishEvent(harness, agent)
  await runWebhookJobs()
  await runWebhookJobs()
  assert.equal(receiver.received.length, 1)
  assert.ok((await endpointOf(harness, id))?.failing_since)
  await harness.advance(6 * secondMs)
  await runWebhookJobs()
  assert.equal(receiver.received.length, 2)
  await harness.advance(200 * secondMs)
  await runWebhookJobs()
  assert.equal(receiver.received.length, 2, 'tried before its time')
  receiver.respond = respondWith(200)
  await harness.advance(140 * secondMs)
  await runWebhookJobs()
  await harness.advance(2 * dayMs)
  await runWebhookJobs()
  assert.equal(receiver.received.length, 3)
  assert.equal(new Set(receiver.eventIds()).size, 1)
  assert.equal(new Set(receiver.received.map(({ body }) => body)).size, 1)
  // Each attempt has its own time, so a receiver's tolerance for old ones does not bite.
  assert.equal(new Set(receiver.received.map(({ headers }) => headers['webhook-timestamp'])).size, 3)
  assert.ok(receiver.received.every((received) => isSigned(signingSecret, received)))
  assert.deepEqual(await statesOf(harness, id), ['delivered'])
  assert.equal((await endpointOf(harness, id))?.failing_since, null)
  assert.deepEqual(await attemptsOf(harness, id), [
    { attempt: 1, outcome: 'failed', status: 500, fault: null },
    { attempt: 2, outcome: 'failed', status: 500, fault: null },
    { attempt: 3, outcome: 'delivered', status: 200, fault: null },
  ])
})

test('after ten failures a delivery is dead, and the endpoint lives on', async () => {
  const harness = await startHarness()
  const runWebhookJobs = makeWebhookJobRunner(harness)
  const receiver = await startReceiver(respondWith(404))
  const agent = await registerIdleAgent(harness)
  const { id } = await subscribe(harness, agent, receiver.url)
  await publishEvent(harness, agent)
  for (const seconds of [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400]) {
    await runWebhookJobs()
    await harness.advance(seconds * 1_100 + 1)
  }
  assert.deepEqual(await statesOf(harness, id), ['pending'])
  await runWebhookJobs()
  assert.equal(receiver.received.length, 10)
  assert.deepEqual(await statesOf(harness, id), ['dead'])
  assert.equal((await endpointOf(harness, id))?.state, 'enabled')
  // Nothing is left to send, so a day later a probe asks whether the endpoint is back.
  receiver.respond = respondWith(204)
  await harness.advance(1.1 * dayMs)
  await runWebhookJobs()
  assert.equal(receiver.received.length, 11)
  assert.deepEqual(eventEnvelope.parse(JSON.parse(receiver.received[10]?.body ?? '')).data, {
    endpointId: id,
    reason: 'probe',
  })
  assert.equal((await endpointOf(harness, id))?.failing_since, null)
})

test('Retry-After is respected', async () => {
  const harness = await startHarness()
  const runWebhookJobs = makeWebhookJobRunner(harness)
  const receiver = await startReceiver(respondWith(503, { 'retry-after': '7200' }))
  const agent = await registerIdleAgent(harness)
  await subscribe(harness, agent, receiver.url)
  await publishEvent(harness, agent)
  await runWebhookJobs()
  await harness.advance(1.9 * hourMs)
  await runWebhookJobs()
  assert.equal(receiver.received.length, 1)
  await harness.advance(0.2 * hourMs)
  await runWebhookJobs()
  assert.equal(receiver.received.length, 2)
})

test('410 disables the endpoint, ends its pending deliveries, and publishes endpoint.disabled', async () => {
  const harness = await startHarness()
  const runWebhookJobs = makeWebhookJobRunner(harness)
  const gone = await startReceiver(respondWith(500))
  const healthy = await startReceiver()
  const agent = await registerIdleAgent(harness)
  const { id } = await subscribe(harness, agent, gone.url)
  await subscribe(harness, agent, healthy.url, ['endpoint.disabled'])
  await publishEvent(harness, agent)
  await runWebhookJobs()
  gone.respond = respondWith(410)
  await publishEvent(harness, agent)
  await runWebhookJobs()
  assert.equal(gone.received.length, 2)
  assert.deepEqual(await statesOf(harness, id), ['dead', 'dead'])
  const endpoint = await endpointOf(harness, id)
  assert.equal(endpoint?.state, 'disabled')
  assert.equal(endpoint.disabled_reason, 'gone')
  assert.equal(healthy.received.length, 1)
  const { data } = eventEnvelope.parse(JSON.parse(healthy.received[0]?.body ?? ''))
  assert.deepEqual(data, { endpointId: id, since: endpoint.failing_since?.toISOString() })
  await publishEvent(harness, agent)
  await harness.advance(dayMs)
  await runWebhookJobs()
  assert.equal(gone.received.length, 2)
  assert.equal((await statesOf(harness, id)).length, 2)
})

test('five days of failure without a success disable the endpoint; one success in between prevents it', async () => {
  const harness = await startHarness()
  const runWebhookJobs = makeWebhookJobRunner(harness)
  const failing = await startReceiver(respondWith(500))
  const recovering = await startReceiver(respondWith(500))
  const healthy = await startReceiver()
  const agent = await registerIdleAgent(harness)
  const { id } = await subscribe(harness, agent, failing.url, ['key.revoked'])
  const { id: recoveringId } = await subscribe(harness, agent, recovering.url, ['key.revoked'])
  await subscribe(harness, agent, healthy.url, ['endpoint.disabled'])
  await publishEvent(harness, agent)
  await runWebhookJobs()
  await harness.advance(4.9 * dayMs)
  recovering.respond = respondWith(200)
  await runWebhookJobs()
  assert.equal((await endpointOf(harness, id))?.state, 'enabled')
  recovering.respond = respondWith(500)
  await harness.advance(0.2 * dayMs)
  await publishEvent(harness, agent)
  await runWebhookJobs()
  const endpoint = await endpointOf(harness, id)
  assert.equal(endpoint?.state, 'disabled')
  assert.equal(endpoint.disabled_reason, 'failing')
  assert.equal((await endpointOf(harness, recoveringId))?.state, 'enabled')
  assert.equal(healthy.received.length, 1)
  assert.deepEqual(eventEnvelope.parse(JSON.parse(healthy.received[0]?.body ?? '')).data, {
    endpointId: id,
    since: endpoint.failing_since?.toISOString(),
  })
})

test('a redirect is a failure and is not followed', async () => {
  const harness = await startHarness()
  const canary = await startReceiver()
  const agent = await registerIdleAgent(harness)
  const ids: string[] = []
  for (const status of [301, 302, 303, 307, 308]) {
    const receiver = await startReceiver(respondWith(status, { location: canary.url }))
    ids.push((await subscribe(harness, agent, receiver.url)).id)
  }
  await publishEvent(harness, agent)
  await harness.runJobs()
  assert.equal(canary.received.length, 0)
  for (const id of ids) {
    assert.deepEqual(await statesOf(harness, id), ['pending'])
    assert.equal((await attemptsOf(harness, id))[0]?.outcome, 'failed')
  }
})

test('in production a receiver that resolves to this machine is never reached, whatever was registered', async () => {
  const harness = await startHarness({ BASE_URL: 'https://pohf.example.org' })
  const canary = await startReceiver()
  const agent = await registerIdleAgent(harness)
  const port = new URL(canary.url).port
  const targets = ['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', '0x7f.1', '0.0.0.0']
  for (const host of targets) {
    const { id } = await subscribe(harness, agent, 'https://hooks.example.com/')
    // What a name that changed its answer since registration would do.
    await harness.owner.query('update webhook_endpoints set url = $1 where endpoint_id = $2', [
      `http://${host}:${port}/hook`,
      id,
    ])
  }
  await publishEvent(harness, agent)
  await harness.runJobs()
  assert.equal(canary.received.length, 0)
  const { rows } = await harness.owner.query('select fault from webhook_attempts')
  assert.deepEqual(
    rows.map(({ fault }) => fault),
    targets.map(() => 'address_refused'),
  )
})
