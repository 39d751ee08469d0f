import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeDeliverySlots } from './slots.ts'
import type { ClaimedDelivery } from './claims/store.ts'
import type { SettledAttempt } from './store.ts'
import { makeAcknowledgementWriter } from './acknowledged.ts'

const claimed = (endpointId: string, n: number): ClaimedDelivery => ({
  agentId: 'agt_a',
  mode: 'test',
  deliveryId: `dlv_${endpointId}_${n}`,
  endpointId,
  eventId: `evt_${n}`,
  attempt: 1,
  retryStep: 1,
  firstWait: undefined,
  trace: null,
  kind: 'event',
  body: '{}',
  url: 'https://hooks.example.com/',
  hostLimit: undefined,
  carried: [],
  secretsSealed: [],
})
const many = (endpointId: string, count: number) =>
  Array.from({ length: count }, (_, n) => claimed(endpointId, n))
const settle = () => new Promise((resolve) => setImmediate(resolve))

/** Lanes whose sendings end when the test says so. */
const open = (activeMax: number, perEndpoint: number) => {
  const sending = new Map<string, () => void>()
  const sent: string[] = []
  const stale: string[] = []
  const clock = { now: 0 }
  const slots = makeDeliverySlots({
    activeMax,
    perEndpoint,
    perAgent: activeMax,
    slowActiveMax: 2,
    slowAfterMs: 100,
    slowForMs: 5_000,
    perUnprovenHost: 2,
    waitMsMax: 1_000,
    now: () => clock.now,
    send: (one) => {
      sent.push(one.deliveryId)
      return new Promise<void>((resolve) => sending.set(one.deliveryId, resolve))
    },
    onStale: (claims) => void stale.push(...claims.map((one) => one.deliveryId)),
  })
  const end = async (id: string) => {
    sending.get(id)?.()
    sending.delete(id)
    await settle()
  }
  return { slots, sending, sent, stale, clock, end }
}

test('no endpoint has more than its share open, and a silent one holds up no other', async () => {
  const { slots, sending, sent, end } = open(10, 2)
  slots.add([...many('dead', 8), ...many('good', 8)])
  assert.deepEqual(sent, ['dlv_dead_0', 'dlv_dead_1', 'dlv_good_0', 'dlv_good_1'])
  for (let n = 0; n < 8; n++) await end(`dlv_good_${n}`)
  assert.equal(sent.filter((id) => id.startsWith('dlv_good')).length, 8)
  assert.deepEqual([...sending.keys()], ['dlv_dead_0', 'dlv_dead_1'])
  assert.deepEqual([...slots.held()], [['dead', 8]])
})

test('over all endpoints no more deliveries are open than there are slots, and each that ends frees one', async () => {
  const { slots, sending, end } = open(3, 2)
  slots.add([...many('a', 4), ...many('b', 4)])
  assert.equal(sending.size, 3)
  assert.equal(slots.heldCount(), 8)
  await end('dlv_a_0')
  assert.equal(sending.size, 3)
  for (let step = 0; step < 8; step++) {
    const [next] = sending.keys()
    if (next !== undefined) await end(next)
  }
  assert.deepEqual([sending.size, slots.heldCount()], [0, 0])
})

test('waiting deliveries can be removed, of one endpoint or of all, and are not sent then', async () => {
  const { slots, sent, end } = open(10, 1)
  slots.add([...many('a', 3), ...many('b', 2)])
  assert.deepEqual(
    slots.removeWaiting('a').map((one) => one.deliveryId),
    ['dlv_a_1', 'dlv_a_2'],
  )
  assert.equal(slots.removeWaiting().length, 1)
  await end('dlv_a_0')
  await end('dlv_b_0')
  assert.deepEqual(sent, ['dlv_a_0', 'dlv_b_0'])
  assert.equal(slots.heldCount(), 0)
})

test('a delivery that waited too long is returned with all behind it, not sent near the end of its lease', async () => {
  const { slots, sent, stale, clock, end } = open(10, 1)
  slots.add(many('a', 3))
  clock.now = 1_001
  await end('dlv_a_0')
  assert.deepEqual(sent, ['dlv_a_0'])
  assert.deepEqual(stale, ['dlv_a_1', 'dlv_a_2'])
})

const unproven = (endpointId: string, host: string): ClaimedDelivery => ({
  ...claimed(endpointId, 0),
  hostLimit: { host, failuresMax: 30 },
})
test('endpoints that have not answered yet share one slot of their host, and few wait for it', async () => {
  const { slots, sent, end } = open(10, 4)
  const full = slots.add([
    ...['a', 'b', 'c', 'd'].map((id) => unproven(id, 'host victim.example')),
    unproven('e', 'host other.example'),
    ...many('proven', 2),
  ])
  assert.deepEqual(sent, ['dlv_a_0', 'dlv_e_0', 'dlv_proven_0', 'dlv_proven_1'])
  assert.deepEqual(
    full.map((one) => one.endpointId),
    ['c', 'd'],
  )
  assert.equal(slots.held().get('b'), 1)
  assert.deepEqual(
    slots.removeWaiting('a').map((one) => one.deliveryId),
    [],
  )
  await end('dlv_a_0')
  assert.equal(sent.at(-1), 'dlv_b_0')
})

test('slow endpoints get one delivery at a time and some of the slots, so that the others are sent meanwhile', async () => {
  const { slots, sending, sent, clock, end } = open(6, 3)
  const slowOnes = ['s1', 's2', 's3', 's4']
  slots.add(slowOnes.map((id) => claimed(id, 0)))
  clock.now = 200
  for (const id of slowOnes) await end(`dlv_${id}_0`)
  assert.deepEqual([...slots.slow()], slowOnes)
  slots.add(slowOnes.flatMap((id) => many(id, 3).slice(1)))
  assert.deepEqual([...sending.keys()], ['dlv_s1_1', 'dlv_s2_1'])
  slots.add(many('quick', 3))
  assert.equal(sent.filter((id) => id.startsWith('dlv_quick')).length, 3)
  // One that is quick again gets all its slots back after a time.
  clock.now = 5_300
  await end('dlv_s1_1')
  assert.ok(!slots.slow().has('s3'))
})

const acknowledged = (n: number): SettledAttempt => ({
  claimed: claimed('a', n),
  outcome: 'delivered',
  reply: { status: 204, retryAfter: undefined },
  durationMs: 1,
})

test('the first is written at once, what ends meanwhile together, and a failed batch fails its own only', async () => {
  const batches: number[] = []
  const gates: PromiseWithResolvers<void>[] = []
  const writer = makeAcknowledgementWriter(async (batch) => {
    batches.push(batch.length)
    const gate = Promise.withResolvers<void>()
    gates.push(gate)
    await gate.promise
  })
  const first = writer.write(acknowledged(0))
  const rest = Array.from({ length: 5 }, (_, n) => writer.write(acknowledged(n + 1)))
  assert.deepEqual(batches, [1])
  gates[0]?.reject(new Error('the database is away'))
  await assert.rejects(first, /away/)
  await settle()
  assert.deepEqual(batches, [1, 5])
  gates[1]?.resolve()
  await Promise.all(rest)
  const later = writer.write(acknowledged(9))
  gates[2]?.resolve()
  await later
  assert.deepEqual(batches, [1, 5, 1])
})
