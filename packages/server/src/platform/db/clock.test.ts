import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { openHarness, startHarness, type Harness } from '../../../test/fixtures/harness.ts'
import { assertRefusal } from '../../../test/fixtures/refusal.ts'
import { startReceiver } from '../../../test/fixtures/webhook-receiver.ts'
import {
  dayMs,
  drainEvents,
  hourMs,
  publishEvent,
  registerIdleAgent,
  subscribe,
  type Agent,
} from '../../../test/fixtures/webhooks.ts'
import { clockJob } from './clock.ts'
import { inTransaction } from './db.ts'
import { claimDue } from '../queue/leases.ts'

/** Sets the clock of the database alone, as a jump does: no partition is made for the new date. */
const setClock = async ({ owner }: Pick<Harness, 'owner'>, offsetMs: number): Promise<void> => {
  await owner.query(
    `create or replace function pohf_now() returns timestamptz language sql stable parallel safe as $$ select transaction_timestamp() + interval '${offsetMs} milliseconds' $$`,
  )
}

const harness = await startHarness()
const followClock = () => clockJob(harness.ctx).run()
const receiver = await startReceiver()
const agent = await registerIdleAgent(harness)
await subscribe(harness, agent, receiver.url)

const dueInSeconds = async (table: string): Promise<number[]> => {
  const { rows } = await harness.owner.query<{ seconds: number }>(
    `select extract(epoch from due_at - pohf_now())::float8 as seconds from ${table} order by due_at`,
  )
  return rows.map(({ seconds }) => Math.round(seconds))
}

test('events that were published or claimed before the clock was set back an hour are delivered after it', async () => {
  await setClock(harness, hourMs)
  await followClock()
  const claimed = await publishEvent(harness, agent, 'key_claimed')
  // A worker that crashes keeps its lease of a minute.
  await inTransaction(harness.ctx, 'system', (tx) =>
    claimDue(tx, {
      table: 'outbox',
      id: 'outbox_id',
      condition: sql`topic = 'event'`,
      limit: 1,
      leaseSeconds: 60,
    }),
  )
  const waiting = await publishEvent(harness, agent, 'key_waiting')
  const fannedOut = await publishEvent(harness, agent, 'key_fanned_out')
  await harness.owner.query("update outbox set due_at = due_at - interval '1 second' where outbox_id = $1", [
    fannedOut,
  ])
  await setClock(harness, 0)
  await followClock()
  assert.ok(
    (await dueInSeconds('outbox')).every((seconds) => seconds <= 60),
    'the lease is a minute again',
  )
  assert.ok(harness.lines.some((line) => /"seconds":3[56]\d\d.*database clock was set back/.test(line)))

  await harness.runJobs()
  assert.deepEqual(receiver.eventIds().toSorted(), [waiting, fannedOut].toSorted())
  await harness.advance(61_000)
  await harness.runJobs()
  assert.deepEqual(receiver.eventIds().toSorted(), [claimed, waiting, fannedOut].toSorted())
})

test('a set-back is followed once, whichever worker finds it, and a clock that runs on changes nothing', async () => {
  await setClock(harness, hourMs)
  await followClock()
  await publishEvent(harness, agent)
  await drainEvents(harness)
  await harness.owner.query(
    "update webhook_deliveries set due_at = pohf_now() + interval '24 hours' where state = 'pending'",
  )
  await setClock(harness, 0)
  await Promise.all([followClock(), followClock(), followClock()])
  await followClock()
  const [seconds = 0] = await dueInSeconds("webhook_deliveries where state = 'pending'")
  assert.ok(seconds > 23.9 * 3_600 && seconds <= 24 * 3_600, `a retry after a day waits for ${seconds} s`)
})

type Page = { readonly events: readonly { readonly id: string }[]; readonly nextCursor: string }
const readAfter = async (reader: Agent, cursor: string): Promise<Page> =>
  (await harness.call('GET', `/api/agents/events?cursor=${cursor}`, { key: reader.apiKey })).json

test('a reader whose cursor is in the future since the clock was set back misses no event', async () => {
  const reader = await registerIdleAgent(harness)
  await setClock(harness, hourMs)
  await followClock()
  await publishEvent(harness, reader, 'key_before')
  await setClock(harness, hourMs + 10_000)
  const { json } = await harness.call('GET', '/api/agents/events', { key: reader.apiKey })
  const { nextCursor } = json as Page
  await setClock(harness, 0)
  await followClock()
  const after = await publishEvent(harness, reader, 'key_after')
  await setClock(harness, 10_000)
  const page = await readAfter(reader, nextCursor)
  assert.ok(page.events.some(({ id }) => id === after))
})

for (const days of [31, -31])
  test(`a jump of ${days} days is answered 503 until the worker has made the partitions, and then works`, async () => {
    const jumped = await openHarness()
    try {
      const { apiKey: key } = await jumped.register('test')
      await clockJob(jumped.ctx).run()
      await setClock(jumped, days * dayMs)
      const verify = () => jumped.call('POST', '/api/agents/verify', { key, body: { sessionId: 'any' } })
      const lacking = async () =>
        (
          await jumped.owner.query<{ count: number }>(
            `select count(*)::int as count from platform_partitioned
             where to_regclass(table_name || to_char(pohf_now() at time zone 'UTC', case when by_day then '_YYYY_MM_DD' else '_YYYY_MM' end)) is null`,
          )
        ).rows[0]?.count
      assert.ok((await lacking()) !== 0, 'nothing is tried here')
      if (days < 0) assertRefusal(await verify(), 503, 'overloaded')
      await clockJob(jumped.ctx).run()
      assert.equal(await lacking(), 0)
      assert.equal((await verify()).status, 200)
    } finally {
      await jumped.close()
    }
  })

/** Times of a queue or a lease that stay as they are, and why. */
const unmoved: ReadonlyMap<string, string> = new Map([
  ['assignments.due_at', 'a deadline that a person was told'],
  ['idempotency_keys.lease_until', 'the fencing token of a claim'],
])

test('every due time and lease follows the clock, or is named here', async () => {
  const { rows } = await harness.owner.query<{ name: string; moved: boolean }>(
    `select columns.table_name || '.' || column_name as name, due.table_name is not null as moved
     from information_schema.columns left join platform_due_times due using (table_name, column_name)
     where table_schema = 'public' and column_name in ('due_at', 'next_at', 'lease_until', 'busy_until')`,
  )
  assert.ok(rows.length >= 7)
  for (const { name, moved } of rows) assert.notEqual(moved, unmoved.has(name), name)
})
