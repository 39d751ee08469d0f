import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deliveryJob } from '../../src/webhooks/delivery/deliver.ts'
import { startHarness } from '../fixtures/harness.ts'
import { pollUntil } from '../fixtures/polling.ts'
import { holdLimits } from '../fixtures/time/held-limits.ts'
import { respondWith, startReceiver } from '../fixtures/webhook-receiver.ts'
import {
  attemptsOf,
  drainEvents,
  endpointOf,
  noContact,
  publishEvent,
  registerIdleAgent,
  runUntilIdle,
  subscribe,
} from '../fixtures/webhooks.ts'

const harness = await startHarness()

test('a receiver that sends interim responses without end is a failed delivery after the time limit', async (t) => {
  const agent = await registerIdleAgent(harness)
  const open = new Set<NodeJS.Timeout>()
  // A length that no other timer has.
  const timeoutMs = 4_321
  const limits = holdLimits(t, timeoutMs)
  let interim = 0
  const endless = await startReceiver((response) => {
    const timer = setInterval(() => {
      response.writeProcessing()
      interim += 1
      if (interim === 10) limits.runOut(limits.running())
    }, 20)
    open.add(timer)
    response.on('close', () => clearInterval(timer))
  })
  const { id } = await subscribe(harness, agent, endless.url)
  await publishEvent(harness, agent)
  await drainEvents(harness)
  await runUntilIdle(deliveryJob(harness.ctx, noContact, { timeoutMs }))
  for (const timer of open) clearInterval(timer)
  const [attempt, ...more] = await attemptsOf(harness, id)
  assert.deepEqual(more, [])
  assert.deepEqual([attempt?.outcome, attempt?.fault], ['failed', 'timeout'])
})

test('a receiver that answers 200 and never ends the answer frees its slot and gets nothing stored', async () => {
  const agent = await registerIdleAgent(harness)
  let bytes = 0
  const endless = await startReceiver((response) => {
    response.writeHead(200, { 'content-type': 'text/plain', 'content-encoding': 'gzip' })
    const chunk = Buffer.alloc(16_384)
    const write = () => {
      bytes += chunk.length
      if (!response.destroyed && bytes < 64 * 1_048_576) response.write(chunk, () => setImmediate(write))
    }
    write()
  })
  const { id } = await subscribe(harness, agent, endless.url)
  await publishEvent(harness, agent)
  await drainEvents(harness)
  await runUntilIdle(deliveryJob(harness.ctx, noContact, { timeoutMs: 5_000 }))
  assert.deepEqual(
    (await attemptsOf(harness, id)).map(({ outcome, status }) => [outcome, status]),
    [['delivered', 200]],
  )
  assert.ok(bytes < 16 * 1_048_576, `the connection ends at the size limit: ${bytes} bytes were written`)
})

test('a receiver that says it is gone ends its own endpoint and not that of another agent at the same address', async () => {
  const [honest, hostile] = [await registerIdleAgent(harness), await registerIdleAgent(harness)]
  const shared = await startReceiver()
  const [mine, theirs] = [
    await subscribe(harness, honest, shared.url),
    await subscribe(harness, hostile, shared.url),
  ]
  shared.respond = respondWith(410)
  await publishEvent(harness, hostile)
  await drainEvents(harness)
  await runUntilIdle(deliveryJob(harness.ctx, noContact))
  assert.equal((await endpointOf(harness, theirs.id))?.disabled_reason, 'gone')
  shared.respond = respondWith(204)
  await publishEvent(harness, honest)
  await drainEvents(harness)
  await runUntilIdle(deliveryJob(harness.ctx, noContact))
  assert.deepEqual(
    (await attemptsOf(harness, mine.id)).map(({ outcome }) => outcome),
    ['delivered'],
  )
})

test('receivers of one agent that hold every connection do not stop the deliveries of another agent', async () => {
  const [victim, hostile] = [await registerIdleAgent(harness), await registerIdleAgent(harness)]
  const held: (() => void)[] = []
  const slow = await startReceiver()
  const quick = await startReceiver()
  for (let index = 0; index < 40; index += 1) await subscribe(harness, hostile, `${slow.url}/${index}`)
  await subscribe(harness, victim, quick.url)
  // No held connection gets free by its time limit, while this test waits.
  const job = deliveryJob(harness.ctx, noContact, { timeoutMs: 120_000 })
  // As if every address had answered 2xx once: before that, a host gets one delivery at a time.
  await harness.owner.query('update webhook_endpoints set proven_at = pohf_now() where agent_id = $1', [
    hostile.agentId,
  ])
  slow.respond = (response) => held.push(() => response.writeHead(204).end())
  for (let index = 0; index < 5; index += 1) await publishEvent(harness, hostile)
  await publishEvent(harness, victim)
  await drainEvents(harness)
  const running = runUntilIdle(job)
  try {
    await pollUntil('the other agent gets its event', async () => quick.received.length === 1)
  } finally {
    slow.respond = respondWith(204)
    for (const release of held) release()
    await running
  }
})
