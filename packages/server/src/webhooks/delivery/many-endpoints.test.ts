import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { startReceiver } from '../../../test/fixtures/webhook-receiver.ts'
import {
  drainEvents,
  publishEvent,
  registerIdleAgent,
  runUntilIdle,
  statesOf,
  subscribe,
} from '../../../test/fixtures/webhooks.ts'
import { buildJobs } from '../../wiring/index.ts'

test('2,500 endpoints with an open circuit breaker, more than one claim looks at, delay no other endpoint', async () => {
  const harness = await startHarness()
  const agent = await registerIdleAgent(harness)
  const receiver = await startReceiver()
  const { id } = await subscribe(harness, agent, receiver.url, ['key.revoked'])
  const eventId = await publishEvent(harness, agent)
  await drainEvents(harness)
  // Their ids come first, and each has a delivery that is due.
  await harness.owner.query(
    `with waiting as (
       insert into webhook_endpoints (agent_id, mode, endpoint_id, url, events, secret_sealed, open_until)
       select agent_id, mode, 'whk_' || lpad(n::text, 8, '0'), url || n, events, secret_sealed, pohf_now() + interval '1 day'
       from webhook_endpoints, generate_series(1, 2500) n where endpoint_id = $1
       returning agent_id, mode, endpoint_id)
     insert into webhook_deliveries (agent_id, mode, delivery_id, endpoint_id, event_id, body)
     select agent_id, mode, 'dlv_' || endpoint_id, endpoint_id, $2, '{}' from waiting`,
    [id, eventId],
  )
  const { rows } = await harness.owner.query(
    'select count(*)::int as before from webhook_endpoints where endpoint_id < $1',
    [id],
  )
  assert.equal(rows[0]?.before, 2_500)
  const deliver = buildJobs(harness.ctx).find(({ name }) => name === 'webhooks')
  assert.ok(deliver)
  await runUntilIdle(deliver)
  assert.deepEqual(await statesOf(harness, id), ['delivered'])
  assert.equal(receiver.received.length, 1)
})
