import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { sql } from 'kysely'
import { Client } from 'pg'
import { makeDatabase, startHarness } from '../../test/fixtures/harness.ts'
import { leastStatements } from '../../test/fixtures/plans/statements.ts'
import { makeScoredSession } from '../../test/fixtures/scored-session.ts'
import { inTransaction } from '../platform/db/db.ts'
import { migrate, readMigrations } from '../platform/db/migrate.ts'
import type { View } from '../sessions/index.ts'
import type { BeaconBatch } from './engines/port.ts'
import { makePostgresStore } from './engines/postgres/store.ts'
import type { Beacon } from './rules.ts'
import { nameOf } from './store.ts'

const harness = await startHarness()
const { ctx, owner } = harness
const store = makePostgresStore()
const [agent, other] = [await harness.register('live'), await harness.register('live')]
const dayMs = 86_400_000

type SentBeacon = Partial<Beacon> & { readonly view: View }
/** One batch of beacons in their order; each view once. */
const batchOf = (sent: readonly SentBeacon[]): BeaconBatch => {
  const names = [...new Set(sent.map(({ view }) => nameOf(view)))]
  const views = names.map((name) => {
    const found = sent.find(({ view }) => nameOf(view) === name)
    assert.ok(found)
    return found.view
  })
  const beacons = sent.map(({ view, ...beacon }) => ({
    place: names.indexOf(nameOf(view)),
    beacon: { type: 'load', eventId: null, clientAt: null, path: null, props: null, ...beacon },
  }))
  return { views, beacons }
}
const record = (sent: readonly SentBeacon[]) => store.recordBeacons(ctx, batchOf(sent))

type StoredRow = {
  readonly seq: number
  readonly first_engagement: boolean
  readonly type: string
  readonly client_event_id: string | null
  readonly page: number
}
const rowsOf = async ({ agentId, sessionId }: View): Promise<StoredRow[]> =>
  (
    await owner.query<StoredRow>(
      `select seq, first_engagement, type, client_event_id, page from track_events
       where agent_id = $1 and session_id = $2 order by seq`,
      [agentId, sessionId],
    )
  ).rows
const lockOf = async ({ agentId, sessionId }: View) =>
  (
    await owner.query(
      'select beacons, engaged, page from track_views where agent_id = $1 and session_id = $2',
      [agentId, sessionId],
    )
  ).rows[0]

test('a batch costs one statement, whatever it holds, and leaves no tenant on its connection', async () => {
  const views = await Promise.all(Array.from({ length: 5 }, () => makeScoredSession(harness, agent)))
  const used = await leastStatements(harness, () => record(views.map((view) => ({ view }))))
  assert.equal(used, 1)
  const { rows } = await ctx.db.pool.query('select pohf_tenant() as tenant')
  assert.equal(rows[0].tenant, '')
})

test('the outcomes are in the order of the beacons, and each is that of its own view', async () => {
  const [first, second] = [await makeScoredSession(harness, agent), await makeScoredSession(harness, other)]
  const rejected = await makeScoredSession(harness, agent, { verified: false, quality: 0.1 })
  const work = await makeScoredSession(harness, agent, { kind: 'work' })
  const nowhere = { ...first, sessionId: 'ses_nowhere' }
  // A token of another agent for a session that is not its own.
  const foreign = { ...first, agentId: other.agentId }
  const expired = { ...first, viewedAt: new Date(Date.now() - 30 * dayMs - 60_000), sessionId: 'ses_old' }
  assert.deepEqual(
    await record([
      { view: second, eventId: 'x' },
      { view: nowhere },
      { view: first, eventId: 'x' },
      { view: first, eventId: 'x' },
      { view: expired },
      { view: rejected },
      { view: foreign },
      { view: work },
      { view: first },
      { view: second, eventId: 'x' },
    ]),
    [
      'stored',
      'unknown',
      'stored',
      'duplicate',
      'expired',
      'unknown',
      'unknown',
      'unknown',
      'stored',
      'duplicate',
    ],
  )
  for (const view of [nowhere, foreign, expired, rejected, work])
    assert.equal(await lockOf(view), undefined, 'no row for a view that is not verified')
  assert.deepEqual(await record([{ view: first, eventId: 'x' }]), ['duplicate'])
})

test('the page of a view is that of its first beacon that counts, also within one batch', async () => {
  const view = await makeScoredSession(harness, agent)
  await record([
    { view, path: '/first', type: 'load' },
    { view, path: '/second', type: 'scroll' },
    { view, path: '/third', type: 'CLICK' },
  ])
  await record([{ view, path: '/later', type: 'dwell' }])
  const rows = await rowsOf(view)
  assert.deepEqual(
    rows.map(({ seq, first_engagement: isFirst }) => [seq, isFirst]),
    [
      [1, false],
      [2, true],
      [3, false],
      [4, false],
    ],
  )
  const { rows: named } = await owner.query(
    'select path from attention_pages where agent_id = $1 and page = $2',
    [agent.agentId, rows[0]?.page],
  )
  assert.equal(named[0].path, '/first')
  assert.equal(new Set(rows.map(({ page }) => page)).size, 1)
  assert.deepEqual(await lockOf(view), { beacons: 4, engaged: true, page: rows[0]?.page })
})

test('a view takes 500 beacons; duplicates take no place, and what comes after is full and claims no event id', async () => {
  const view = await makeScoredSession(harness, agent)
  const many = (from: number, count: number) =>
    Array.from({ length: count }, (_, n) => ({ view, eventId: `n${from + n}`, type: 'load' }))
  assert.deepEqual(new Set(await record(many(0, 498))), new Set(['stored']))
  // Two that are known, then three new ones for two places.
  assert.deepEqual(await record([...many(0, 2), ...many(498, 3)]), [
    'duplicate',
    'duplicate',
    'stored',
    'stored',
    'full',
  ])
  assert.deepEqual(await record([{ view, type: 'click', eventId: 'late' }, { view }]), ['full', 'full'])
  const { rows } = await owner.query(
    'select cardinality(event_id_hashes) as n from track_views where session_id = $1',
    [view.sessionId],
  )
  assert.equal(rows[0].n, 500)
  assert.deepEqual(await lockOf(view), { beacons: 500, engaged: false, page: 0 })
})

/** What must hold for the rows of a view, whatever came in which order. */
const assertCounted = async (view: View, sent: readonly SentBeacon[]): Promise<number> => {
  const rows = await rowsOf(view)
  const ids = sent.flatMap(({ eventId }) => (typeof eventId === 'string' ? [eventId] : []))
  const anonymous = sent.length - ids.length
  assert.equal(rows.length, new Set(ids).size + anonymous)
  assert.deepEqual(
    rows.map(({ seq }) => seq),
    rows.map((_, index) => index + 1),
  )
  assert.deepEqual(
    new Set(rows.map(({ client_event_id: id }) => id).filter((id) => id !== null)),
    new Set(ids),
  )
  const firstScroll = rows.find(({ type }) => type === 'scroll')?.seq
  assert.deepEqual(
    rows.filter((row) => row.first_engagement).map(({ seq }) => seq),
    firstScroll === undefined ? [] : [firstScroll],
  )
  const lock = await lockOf(view)
  if (rows.length > 0)
    assert.deepEqual(lock, {
      beacons: rows.length,
      engaged: firstScroll !== undefined,
      page: rows[0]?.page,
    })
  return rows.length
}

test('parallel batches of the same views in any order count each event id once and never wait in a circle', async () => {
  const deadlocks = async () => {
    await owner.query('select pg_stat_clear_snapshot()')
    const { rows } = await owner.query(
      'select deadlocks::int as n from pg_stat_database where datname = current_database()',
    )
    return rows[0].n as number
  }
  const before = await deadlocks()
  const beaconArbitrary = fc.record({
    at: fc.nat(5),
    id: fc.option(fc.nat(6), { nil: null }),
    type: fc.constantFrom('load', 'scroll'),
    path: fc.constantFrom('/a', '/b', '/c', null),
  })
  const batches = fc.array(fc.array(beaconArbitrary, { minLength: 1, maxLength: 12 }), {
    minLength: 2,
    maxLength: 8,
  })
  await fc.assert(
    fc.asyncProperty(batches, async (chosen) => {
      const views = await Promise.all(
        Array.from({ length: 6 }, (_, n) => makeScoredSession(harness, n % 2 === 0 ? agent : other)),
      )
      const sent = chosen.map((batch) =>
        batch.flatMap(({ at, id, type, path }): SentBeacon[] => {
          const view = views[at]
          return view ? [{ view, eventId: id === null ? null : `e${id}`, type, path }] : []
        }),
      )
      const outcomes = (await Promise.all(sent.map(record))).flat()
      let stored = 0
      for (const view of views)
        stored += await assertCounted(
          view,
          sent.flat().filter((one) => one.view === view),
        )
      assert.equal(outcomes.filter((outcome) => outcome === 'stored').length, stored)
      assert.equal(outcomes.filter((outcome) => outcome === 'duplicate').length, outcomes.length - stored)
    }),
    { numRuns: 25 },
  )
  const { rows } = await owner.query(
    `select (select coalesce(sum(landed), 0)::int from beacon_hours) as landed,
       (select coalesce(sum(engaged), 0)::int from beacon_hours) as engaged,
       (select count(*)::int from track_events where seq = 1) as first,
       (select count(*)::int from track_events where first_engagement) as engagements,
       (select coalesce(sum(landed), 0)::int from landing_hours) as "landedByPage",
       (select coalesce(sum(landed), 0)::int from landing_days) as "landedByDay"`,
  )
  const { landed, engaged, first, engagements, landedByPage, landedByDay } = rows[0]
  assert.deepEqual([landed, engaged], [first, engagements])
  assert.deepEqual([landedByPage, landedByDay], [first, first])
  assert.equal(await deadlocks(), before)
})

test('event ids from before migration 0081 are known after it', async () => {
  const { url, drop } = await makeDatabase('template1')
  const client = new Client({ connectionString: url })
  try {
    await migrate(url, readMigrations().slice(0, 80))
    await client.connect()
    await client.query("set pohf.tenant = 'system'")
    await client.query(
      `insert into track_views (agent_id, mode, session_id, viewed_at, beacons)
       select 'a', 'live', 'ses_' || n, now(), n from generate_series(0, 2) n`,
    )
    await client.query(
      `insert into track_event_claims (agent_id, mode, session_id, client_event_id, viewed_at)
       values ('a', 'live', 'ses_1', 'one', now()), ('a', 'live', 'ses_2', 'one', now()), ('a', 'live', 'ses_2', 'two', now())`,
    )
    await migrate(url)
    const views = [0, 1, 2].map((place) => ({
      place,
      agent_id: 'a',
      mode: 'live',
      session_id: `ses_${place}`,
      token_at: 2e9,
    }))
    const beacons = views.flatMap(({ place }) =>
      ['one', 'two'].map((id, n) => ({
        n: place * 2 + n,
        place,
        event_id: id,
        engages: false,
        type: 'load',
      })),
    )
    const { rows } = await client.query(
      `select track_record_beacons($1, $2, '{"tokenDays": 30, "perView": 500}', false) as outcomes`,
      [JSON.stringify(views), JSON.stringify(beacons)],
    )
    assert.equal(rows[0].outcomes, 'ssdsdd')
  } finally {
    await client.end()
    await drop()
  }
})

test('the function has the rights of its caller: it stores nothing that the program may not store itself', async () => {
  const { rows } = await owner.query(
    `select proname, prosecdef, has_function_privilege('public', oid, 'execute') as public from pg_proc
     where proname in ('track_record_beacons', 'track_lock_views', 'track_insert_views') order by proname`,
  )
  assert.equal(rows.length, 3)
  assert.ok(rows.every((row) => row.prosecdef === false && row.public === false))
  await inTransaction(ctx, agent.agentId, async (tx) => {
    const call = sql`select track_record_beacons('[]', '[]', '{"tokenDays": 30, "perView": 500}', false)`
    await call.execute(tx)
    const { rows: after } = await sql<{ tenant: string }>`select pohf_tenant() as tenant`.execute(tx)
    assert.equal(after[0]?.tenant, agent.agentId, 'the tenant of a transaction comes back')
  })
})
