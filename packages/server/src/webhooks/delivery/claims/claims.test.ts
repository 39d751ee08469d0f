import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness, type Harness } from '../../../../test/fixtures/harness.ts'
import {
  registerIdleAgent,
  runUntilIdle,
  noContact,
  subscribe,
  type Agent,
} from '../../../../test/fixtures/webhooks.ts'
import { startReceiver } from '../../../../test/fixtures/webhook-receiver.ts'
import { claimBatch, deliveryJob } from '../deliver.ts'
import { orderInTurn } from '../rules.ts'

/** Endpoints by SQL, and so many due deliveries for each. */
const fillQueue = async (
  harness: Harness,
  agent: Agent,
  queue: { endpoints: number; each: number; url: string },
) => {
  const { id } = await subscribe(harness, agent, queue.url)
  await harness.owner.query(
    `insert into webhook_endpoints (agent_id, mode, endpoint_id, url, events, secret_sealed, proven_at)
     select agent_id, mode, endpoint_id || lpad(i::text, 5, '0'), url || '?n=' || i, events, secret_sealed, pohf_now()
     from webhook_endpoints, generate_series(1, $2) i where endpoint_id = $1`,
    [id, queue.endpoints],
  )
  await harness.owner.query(
    `insert into webhook_deliveries (agent_id, mode, delivery_id, endpoint_id, event_id, body)
     select agent_id, mode, 'dlv_' || endpoint_id || n, endpoint_id, 'evt_' || lpad(n::text, 6, '0'), '{"n":1}'
     from webhook_endpoints, generate_series(1, $2) n where endpoint_id like $1 || '_____'`,
    [id, queue.each],
  )
  return id
}
const emptyState = { held: new Map(), slow: new Set<string>() }
/** How many of each endpoint, by the number in its id. */
const countBy = (claims: readonly { readonly endpointId: string }[]) =>
  Object.fromEntries(
    [...Map.groupBy(claims, ({ endpointId }) => endpointId.slice(-5))].map(([id, list]) => [id, list.length]),
  )

test('free slots go to endpoints in turn, the oldest deliveries of each first', async () => {
  const harness = await startHarness()
  const agent = await registerIdleAgent(harness)
  await fillQueue(harness, agent, { endpoints: 4, each: 20, url: 'http://127.0.0.1:9/' })
  const first = await claimBatch(harness.ctx, 24)
  assert.deepEqual(countBy(first.claimed), { '00001': 16, '00002': 8 })
  assert.equal(first.claimed[0]?.eventId, 'evt_000001')
  const second = await claimBatch(harness.ctx, 40, { ...emptyState, position: first.position })
  assert.deepEqual(countBy(second.claimed), { '00001': 4, '00002': 4, '00003': 16, '00004': 16 })
})

/** Lets the process of each connection write its statistics now, and not within a second or so. */
const writeStatistics = async ({ ctx: { db } }: Harness) => {
  const clients = await Promise.all(Array.from({ length: db.pool.totalCount }, () => db.pool.connect()))
  for (const client of clients) {
    await client.query('select pg_stat_force_next_flush()')
    client.release()
  }
}

test('a claim fills all free slots, and writes no index', async () => {
  const harness = await startHarness()
  const agent = await registerIdleAgent(harness)
  await fillQueue(harness, agent, { endpoints: 40, each: 10, url: 'http://127.0.0.1:9/' })
  const { claimed } = await claimBatch(harness.ctx, 400)
  assert.equal(claimed.length, 400)
  await writeStatistics(harness)
  const { rows } = await harness.owner.query<{ all: number; inPlace: number }>(
    `select n_tup_upd::int as all, n_tup_hot_upd::int as "inPlace" from pg_stat_user_tables
     where relname = 'webhook_deliveries'`,
  )
  assert.deepEqual(rows, [{ all: 400, inPlace: 400 }])
})

test('of more endpoints than one claim looks at, each gets its delivery', async () => {
  const harness = await startHarness()
  const receiver = await startReceiver()
  const agent = await registerIdleAgent(harness)
  await fillQueue(harness, agent, { endpoints: 1_100, each: 1, url: receiver.url })
  // 1,000 that have nothing to send now come first: their circuit breaker is open.
  await harness.owner.query(
    "update webhook_endpoints set open_until = pohf_now() + interval '1 hour' where right(endpoint_id, 5) <= '01000'",
  )
  await runUntilIdle(deliveryJob(harness.ctx, noContact))
  assert.equal(receiver.received.length, 100)
})

const endpoint = (n: number, slots: number) => ({ agentId: 'agt_a', endpointId: `wh_${n}`, slots })

test('endpoints get their turn from the one after the last, and those without room get none', () => {
  const ready = [endpoint(1, 4), endpoint(2, 0), endpoint(3, 4), endpoint(4, -2), endpoint(5, 1)]
  const order = (after: number) => orderInTurn(ready, endpoint(after, 0)).map(({ endpointId }) => endpointId)
  assert.deepEqual(order(0), ['wh_1', 'wh_3', 'wh_5'])
  assert.deepEqual(order(1), ['wh_3', 'wh_5', 'wh_1'])
  // After the last one, from the first again.
  assert.deepEqual(order(5), ['wh_1', 'wh_3', 'wh_5'])
  assert.deepEqual(orderInTurn([], undefined), [])
})
