import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { pollUntil } from '../../../test/fixtures/polling.ts'
import { holdLimits } from '../../../test/fixtures/time/held-limits.ts'
import { moveProcessTime } from '../../../test/fixtures/time/process-time.ts'
import { respondWith, startReceiver } from '../../../test/fixtures/webhook-receiver.ts'
import {
  attemptsOf,
  dayMs,
  endpointOf,
  publishEvent,
  isSigned,
  deliveryDeps,
  registerIdleAgent,
  noContact,
  proveEndpoints,
  drainEvents,
  secondMs,
  statesOf,
  subscribe,
  runUntilIdle,
} from '../../../test/fixtures/webhooks.ts'
import { startWorker } from '../../platform/queue/worker.ts'
import { sendAttempt, claimBatch, deliveryJob, settle } from './deliver.ts'

/** A length that no other timer has. */
const timeoutMs = 1_234

test('a receiver that never answers, and one that is not there, fail in their time', async (t) => {
  const harness = await startHarness()
  const silent = await startReceiver(() => undefined)
  const agent = await registerIdleAgent(harness)
  const { id } = await subscribe(harness, agent, silent.url)
  // Port 9 is discard: nobody listens on it.
  const { id: absent } = await subscribe(harness, agent, 'http://127.0.0.1:9/')
  await publishEvent(harness, agent)
  await drainEvents(harness)
  const limits = holdLimits(t, timeoutMs)
  const delivered = runUntilIdle(deliveryJob(harness.ctx, noContact, { timeoutMs }))
  await pollUntil('the receiver has the request', async () => silent.received.length === 1)
  await pollUntil('the other one has failed', async () => limits.running().length === 1)
  limits.runOut(limits.running())
  await delivered
  assert.equal(silent.received.length, 1)
  assert.deepEqual(await attemptsOf(harness, id), [
    { attempt: 1, outcome: 'failed', status: null, fault: 'timeout' },
  ])
  assert.equal((await attemptsOf(harness, absent))[0]?.fault, 'ECONNREFUSED')
  assert.deepEqual(await statesOf(harness, id), ['pending'])
})

test('receivers that never answer hold up nobody, and none gets more than four at a time', async () => {
  const harness = await startHarness()
  const held: ServerResponse[] = []
  const [silent, healthy] = [await startReceiver(), await startReceiver()]
  const agent = await registerIdleAgent(harness)
  const endpoints = [
    await subscribe(harness, agent, silent.url),
    await subscribe(harness, agent, healthy.url),
  ]
  await proveEndpoints(
    harness,
    agent,
    endpoints.map(({ id }) => id),
  )
  silent.respond = (response) => held.push(response)
  healthy.received.length = 0
  for (let i = 0; i < 60; i++) await publishEvent(harness, agent)
  await drainEvents(harness)
  const job = deliveryJob(harness.ctx, noContact, { timeoutMs: 60_000 })
  const startedAt = performance.now()
  while (healthy.received.length < 60 && performance.now() - startedAt < 30_000) await job.run()
  assert.equal(healthy.received.length, 60, 'the healthy receiver waited for the silent one')
  assert.equal(silent.concurrentMax, 4)
  assert.ok(healthy.concurrentMax <= 4)
  for (const response of held) response.writeHead(500).end()
  await job.finish?.()
  // Known to fail, the endpoint is left alone for a while, then tried one at a time until it answers.
  assert.equal((await claimBatch(harness.ctx, 32)).claimed.length, 0)
  await harness.advance(11 * secondMs)
  assert.equal((await claimBatch(harness.ctx, 32)).claimed.length, 1)
})

test('slow receivers get one delivery at a time, and leave slots to another agent', async (t) => {
  const harness = await startHarness()
  const [slow, healthy] = [await startReceiver(), await startReceiver()]
  const [attacker, agent] = [await registerIdleAgent(harness), await registerIdleAgent(harness)]
  // One agent gets 96 of the 128 slots: four for each of 24 endpoints.
  for (let i = 0; i < 24; i++) await subscribe(harness, attacker, `${slow.url}?x=${i}`)
  await harness.owner.query('update webhook_endpoints set proven_at = pohf_now()')
  const { id } = await subscribe(harness, agent, healthy.url)
  await proveEndpoints(harness, agent, [id])
  healthy.received.length = 0
  const held: ServerResponse[] = []
  slow.respond = (response) => held.push(response)
  for (let i = 0; i < 40; i++) await publishEvent(harness, attacker)
  await drainEvents(harness)
  // The first answers come late, but within the timeout. From then on the worker knows the slow receivers.
  const job = deliveryJob(harness.ctx, noContact, { timeoutMs: 60_000 })
  const runUntil = async (done: () => boolean) => {
    const startedAt = performance.now()
    while (!done() && performance.now() - startedAt < 30_000) await job.run()
  }
  await runUntil(() => held.length >= 96)
  assert.equal(held.length, 96)
  moveProcessTime(t)(4_000)
  for (const response of held.splice(0)) response.writeHead(204).end()
  await runUntil(() => held.length >= 24)
  for (let i = 0; i < 30; i++) await publishEvent(harness, agent)
  await drainEvents(harness)
  await runUntil(() => healthy.received.length >= 30)
  assert.equal(healthy.received.length, 30)
  assert.equal(held.length, 24, 'each slow receiver gets one at a time')
  slow.respond = respondWith(204)
  for (const response of held) response.writeHead(204).end()
  await job.finish?.()
})

test('two workers side by side deliver every event once', async () => {
  const harness = await startHarness()
  const receivers = await Promise.all(Array.from({ length: 3 }, () => startReceiver()))
  const agent = await registerIdleAgent(harness)
  for (const receiver of receivers) {
    const { id } = await subscribe(harness, agent, receiver.url)
    await proveEndpoints(harness, agent, [id])
    receiver.received.length = 0
  }
  const eventIds = await Promise.all(
    Array.from({ length: 80 }, (_, i) => publishEvent(harness, agent, `key_${i}`)),
  )
  await Promise.all([drainEvents(harness), drainEvents(harness)])
  await Promise.all([
    runUntilIdle(deliveryJob(harness.ctx, noContact)),
    runUntilIdle(deliveryJob(harness.ctx, noContact)),
  ])
  for (const receiver of receivers)
    assert.deepEqual(receiver.eventIds().toSorted(), eventIds.toSorted(), 'lost or sent twice')
  const { rows } = await harness.owner.query('select count(*)::int as count from webhook_attempts')
  assert.equal(rows[0].count, 243)
})

test('a worker that crashes after sending causes a second delivery with the same id, and changes nothing when it returns', async () => {
  const harness = await startHarness()
  const receiver = await startReceiver()
  const agent = await registerIdleAgent(harness)
  const { id, signingSecret } = await subscribe(harness, agent, receiver.url)
  const eventId = await publishEvent(harness, agent)
  await drainEvents(harness)
  const [claimed] = (await claimBatch(harness.ctx, 8)).claimed
  assert.ok(claimed)
  await sendAttempt(harness.ctx, claimed)
  await harness.advance(45 * secondMs)
  await harness.runJobs()
  assert.equal(receiver.received.length, 1, 'claimed by another worker while the lease held')
  await harness.advance(16 * secondMs)
  await harness.runJobs()
  assert.deepEqual(receiver.eventIds(), [eventId, eventId])
  assert.equal(receiver.received[0]?.body, receiver.received[1]?.body)
  assert.ok(receiver.received.every((received) => isSigned(signingSecret, received)))
  assert.deepEqual(await statesOf(harness, id), ['delivered'])
  await settle(harness.ctx, deliveryDeps(harness), claimed, {
    reply: { status: 500, retryAfter: undefined },
    durationMs: 1,
  })
  assert.deepEqual(await statesOf(harness, id), ['delivered'])
  assert.equal((await endpointOf(harness, id))?.failing_since, null)
})

test('a worker that is stopped finishes what it has under way', async () => {
  const harness = await startHarness()
  const arrived = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  const receiver = await startReceiver((response) => {
    arrived.resolve()
    void release.promise.then(() => response.writeHead(204).end())
  })
  const agent = await registerIdleAgent(harness)
  const { id } = await subscribe(harness, agent, receiver.url)
  await publishEvent(harness, agent)
  await drainEvents(harness)
  const worker = startWorker(harness.ctx, [deliveryJob(harness.ctx, noContact)])
  await arrived.promise
  const stopped = worker.stop()
  release.resolve()
  await stopped
  assert.deepEqual(await statesOf(harness, id), ['delivered'])
})

test('a late answer of a worker that lost its lease does not settle what another holds now', async () => {
  const harness = await startHarness()
  const receiver = await startReceiver()
  const agent = await registerIdleAgent(harness)
  const { id } = await subscribe(harness, agent, receiver.url)
  await publishEvent(harness, agent)
  await drainEvents(harness)
  const [slow] = (await claimBatch(harness.ctx, 8)).claimed
  await harness.advance(61 * secondMs)
  const [quick] = (await claimBatch(harness.ctx, 8)).claimed
  assert.ok(slow && quick)
  assert.equal(quick.deliveryId, slow.deliveryId)
  for (const status of [200, 410, 500])
    await settle(harness.ctx, deliveryDeps(harness), slow, {
      reply: { status, retryAfter: undefined },
      durationMs: 1,
    })
  assert.deepEqual(await statesOf(harness, id), ['pending'])
  assert.equal((await endpointOf(harness, id))?.state, 'enabled')
  await settle(harness.ctx, deliveryDeps(harness), quick, {
    reply: { status: 200, retryAfter: undefined },
    durationMs: 1,
  })
  assert.deepEqual(await statesOf(harness, id), ['delivered'])
})

test('logs and the attempts log hold no secret, signature, body or address', async () => {
  const harness = await startHarness()
  const receiver = await startReceiver(respondWith(500))
  const agent = await registerIdleAgent(harness)
  const { signingSecret } = await subscribe(harness, agent, `${receiver.url}?token=canary-in-address`)
  await subscribe(harness, agent, 'http://127.0.0.1:9/canary-in-address')
  await publishEvent(harness, agent, 'key_canary_in_body')
  await harness.runJobs()
  const lines = harness.lines.join('')
  const { rows } = await harness.owner.query('select t::text as row from webhook_attempts t')
  assert.ok(lines.includes('webhook delivery failed') && rows.length === 2)
  const signature = String(receiver.received[0]?.headers['webhook-signature'])
  for (const canary of [
    signingSecret.slice(6),
    signature.slice(3),
    'canary-in-address',
    'key_canary_in_body',
  ]) {
    assert.ok(!lines.includes(canary), `a log line holds ${canary}`)
    assert.ok(!JSON.stringify(rows).includes(canary), `the attempts log holds ${canary}`)
  }
})

test('the database refuses to bring back what is settled or switched off', async () => {
  const harness = await startHarness()
  const receiver = await startReceiver(respondWith(410))
  const agent = await registerIdleAgent(harness)
  await subscribe(harness, agent, receiver.url)
  await publishEvent(harness, agent)
  await harness.runJobs()
  for (const sql of [
    "update webhook_deliveries set state = 'pending', settled_at = null",
    "update webhook_deliveries set state = 'delivered'",
  ])
    await assert.rejects(harness.owner.query(sql), /cannot go from/)
  await assert.rejects(harness.owner.query('update webhook_attempts set attempt = 9'), /append-only/)
})

test('deliveries are dropped 30 days after they were settled, not 30 days after the event', async () => {
  const harness = await startHarness()
  const [healthy, failing] = [await startReceiver(), await startReceiver(respondWith(500))]
  const agent = await registerIdleAgent(harness)
  const { id } = await subscribe(harness, agent, healthy.url, ['key.revoked'])
  const { id: failingId } = await subscribe(harness, agent, failing.url, ['key.revoked'])
  await publishEvent(harness, agent)
  await harness.runJobs()
  await harness.advance(29 * dayMs)
  await harness.runJobs()
  assert.deepEqual(await statesOf(harness, id), ['delivered'])
  assert.deepEqual(await statesOf(harness, failingId), ['dead'])
  await harness.advance(2 * dayMs)
  await harness.runJobs()
  assert.deepEqual(await statesOf(harness, id), [])
  assert.deepEqual(await statesOf(harness, failingId), ['dead'])
})
