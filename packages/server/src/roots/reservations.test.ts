import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/fixtures/harness.ts'
import {
  budgetSettings,
  findCounterFaults,
  makeSeenSessions,
  moveClockTo,
  registerPayingAgent,
} from '../../test/fixtures/networks.ts'
import { pollUntil } from '../../test/fixtures/polling.ts'
import { assertRefusal } from '../../test/fixtures/refusal.ts'

const harness = await startHarness({
  ...budgetSettings,
  ROOT_ADDRESS_PER_HOUR: '4',
  ROOT_ADDRESS_PER_DAY: '8',
})
const seen = makeSeenSessions(harness)
const minute = 60_000
const [one, two] = [await registerPayingAgent(harness), await registerPayingAgent(harness)]
const verify = (agent: typeof one, sessionId: string) =>
  harness.call('POST', '/api/agents/verify', { key: agent.apiKey, body: { sessionId } })
const statusesOf = async (agent: typeof one, sessionIds: readonly string[]) => {
  const answers = await Promise.all(sessionIds.map((sessionId) => verify(agent, sessionId)))
  assert.deepEqual(await findCounterFaults(harness), [])
  return answers.map(({ status }) => status).toSorted((a, b) => a - b)
}
const countReservations = async () =>
  (await harness.owner.query<{ n: number }>('select count(*)::int as n from root_reservations')).rows[0]?.n

test('whoever was told "passed" is minted within 15 minutes, and others wait', async () => {
  await moveClockTo(harness, 9, 10)
  const address = '203.0.113.1'
  const held = [
    await seen(2, one, address, { reserves: true }),
    await seen(2, two, address, { reserves: true }),
  ]
  const [late = ''] = await seen(1, one, address)
  assertRefusal(await verify(one, late), 409, 'network_busy')
  await harness.advance(14 * minute)
  assert.deepEqual(await statusesOf(one, held[0] ?? []), [200, 200])
  assert.deepEqual(await statusesOf(two, held[1] ?? []), [200, 200])
  assert.equal(await countReservations(), 0)
  assertRefusal(await verify(one, late), 409, 'network_busy')
})

test('a place that nobody used is free again after 15 minutes', async () => {
  await moveClockTo(harness, 9, 10)
  const address = '203.0.113.2'
  const [held = ''] = await seen(1, one, address, { reserves: true })
  await seen(1, one, address, { reserves: true })
  const [other = ''] = await seen(1, one, address)
  assertRefusal(await verify(one, other), 409, 'network_busy')
  await harness.advance(16 * minute)
  await harness.runJobs()
  assert.equal(await countReservations(), 0)
  assert.deepEqual(await statusesOf(one, [other]), [200])
  assert.deepEqual(await statusesOf(one, [held]), [200], 'its own reservation is over: it spends directly')
})

test('a reservation that reaches into the next hour holds a place there, and no hour is exceeded', async () => {
  await moveClockTo(harness, 9, 55)
  const address = '203.0.113.3'
  const held = await seen(2, one, address, { reserves: true })
  await harness.advance(8 * minute)
  const direct = await seen(3, two, address)
  assert.deepEqual(await statusesOf(two, direct), [200, 200, 409], 'two of four places are held')
  assert.deepEqual(await statusesOf(one, held), [200, 200])
  await harness.runJobs()
  const { rows } = await harness.owner.query<{ hours: number[]; used: number }>(
    `select array(select coalesce(taken, 0) from unnest(hours) taken) as hours, used from root_counters
     where spender = '' and tag in (select unnest(narrow_tags) from root_sessions where session_id = $1)`,
    [held[0]],
  )
  assert.deepEqual(rows, [{ hours: [0, 4], used: 4 }], 'the places of the first hour were given back')
})

test('a reservation that reaches into the next day holds a place there, under that day’s tag', async () => {
  await moveClockTo(harness, 23, 52)
  const address = '203.0.113.4'
  const held = await seen(2, one, address, { reserves: true })
  await harness.advance(12 * minute)
  const direct = await seen(3, two, address)
  assert.deepEqual(await statusesOf(two, direct), [200, 200, 409])
  assert.deepEqual(await statusesOf(one, held), [200, 200])
  await harness.runJobs()
  const { rows } = await harness.owner.query<{ used: number }>(
    `select used from root_counters where spender = '' and tag in (
       select unnest(narrow_tags) from root_sessions where session_id = any($1)) order by day`,
    [[held[0], direct[0]]],
  )
  assert.deepEqual(rows, [{ used: 0 }, { used: 4 }], 'the day that ended gave its places back')
})

test('a session that an agent could not pay for keeps its reservation', async () => {
  await moveClockTo(harness, 9, 10)
  const poor = await harness.register('live')
  const [held = ''] = await seen(1, poor, '203.0.113.5', { reserves: true })
  const { status, json } = await verify(poor, held)
  assert.deepEqual([status, json.error], [402, 'insufficient_credits'])
  assert.equal(await countReservations(), 1)
})

test('reservations that end take the counters in the order of the mint, whichever hours they hold', async () => {
  await moveClockTo(harness, 10, 20)
  await harness.owner.query(
    `insert into root_counters (day, tag, spender, used, hours, day_limit, hour_limit)
     select roots_day(pohf_now()), tag, '', 1, array_fill(1, array[2], array[roots_hour(pohf_now()) - 1]), 9, 9
     from unnest('{a-first,z-last}'::text[]) tag`,
  )
  await harness.owner.query(
    `insert into root_reservations (session_id, spender, expires_at, days, tags, spenders, hours, day_amounts)
     select tag, '', pohf_now(), array[roots_day(pohf_now())], array[tag], '{""}', array[roots_hour(pohf_now()) + hour], '{1}'
     from unnest('{a-first,z-last}'::text[], '{0,-1}'::int[]) held (tag, hour)`,
  )
  const mint = await harness.owner.connect()
  try {
    await mint.query('begin')
    await mint.query("select from root_counters where tag = 'a-first' for update")
    const released = harness.owner.query<{ n: number }>('select roots_release() as n')
    await pollUntil('the release waits', async () => {
      const { rows } = await mint.query(
        // Such a lock names no database. Who waits has locked a table of this one; others run tests in the same cluster.
        `select from pg_locks waiting where not granted and locktype = 'transactionid' and exists (
           select from pg_locks where pid = waiting.pid
             and database = (select oid from pg_database where datname = current_database()))`,
      )
      return rows.length > 0
    })
    await mint.query("select from root_counters where tag = 'z-last' for update")
    await mint.query('commit')
    assert.ok(((await released).rows[0]?.n ?? 0) >= 2)
  } finally {
    mint.release()
  }
  const { rows } = await harness.owner.query(
    "select used from root_counters where tag in ('a-first', 'z-last')",
  )
  assert.deepEqual(rows, [{ used: 0 }, { used: 0 }])
})
