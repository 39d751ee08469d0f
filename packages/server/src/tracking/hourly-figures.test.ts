import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { startHarness, type Harness } from '../../test/fixtures/harness.ts'
import { makeScoredSession } from '../../test/fixtures/scored-session.ts'
import { inTransaction } from '../platform/db/db.ts'
import { mergeSlotsJob } from '../platform/db/maintenance.ts'
import { deleteVisitorSessions } from '../sessions/store.ts'
import { eraseSession, insertUnscoredSession, updateSessionsScored } from '../sessions/index.ts'

const minuteMs = 60_000
const monthMs = 31 * 24 * 60 * minuteMs
type Agent = Awaited<ReturnType<Harness['register']>>
type ViewFigures = Record<string, unknown>

/** The same figures from the rows themselves, without the hourly ones. */
const recount = async ({ owner }: Harness, { agentId, mode }: Agent, since: string): Promise<ViewFigures> => {
  const { rows } = await owner.query<ViewFigures>(
    `with views as (select * from sessions where agent_id = $1 and mode = $2 and kind = 'view' and at >= $3),
      beacons as (select * from track_events where agent_id = $1 and mode = $2 and viewed_at >= $3),
      sales as (select * from conversions where agent_id = $1 and mode = $2 and viewed_at >= $3)
    select (select count(*)::int from views) as views, (select count(*)::int from views where verified) as verified,
      (select count(*)::int from views where not verified) as rejected,
      (select avg(quality::numeric)::float8 from views) as "avgQuality",
      (select coalesce(json_object_agg(flag, n), '{}') from (
        select flag, count(*)::int as n from views, unnest(flags) flag group by flag) f) as flags,
      (select count(distinct session_id)::int from beacons) as landed,
      (select count(distinct session_id)::int from beacons
        where lower(type) in ('engaged', 'scroll', 'click', 'dwell', 'input')) as engaged,
      (select count(*)::int from sales) as conversions, (select count(distinct session_id)::int from sales) as converted,
      (select coalesce(json_object_agg(code, total), '{}') from (
        select coalesce(currency, 'XXX') as code, sum(value::numeric)::float8 as total from sales
        where value is not null group by 1) v) as value`,
    [agentId, mode, since],
  )
  return rows[0] ?? {}
}

/** The figures that the two endpoints answer. */
const read = async (harness: Harness, agent: Agent, since: string): Promise<ViewFigures> => {
  const query = `?limit=1&since=${encodeURIComponent(since)}`
  const metrics = await harness.call('GET', `/api/agents/metrics${query}`, { key: agent.apiKey })
  const funnel = await harness.call('GET', `/api/agents/metrics/funnel?since=${encodeURIComponent(since)}`, {
    key: agent.apiKey,
  })
  assert.deepEqual([metrics.status, funnel.status], [200, 200], metrics.text + funnel.text)
  const { views, verified, rejected, avgQuality, flags } = metrics.json.summary
  assert.equal(funnel.json.views, verified)
  const { landed, engaged, conversions, value, rates } = funnel.json
  const converted = verified === 0 ? undefined : rates.conversion * verified
  return { views, verified, rejected, avgQuality, flags, landed, engaged, conversions, converted, value }
}

const near = (value: unknown) => (typeof value === 'number' ? Number(value.toPrecision(12)) : value)

/** Compares both at a time. A rate cannot exceed 1, so the number of converted views is compared below that only. */
const assertExact = async (harness: Harness, agent: Agent, since: string): Promise<void> => {
  const [shown, counted] = [await read(harness, agent, since), await recount(harness, agent, since)]
  const verified = Number(counted['verified'])
  const isComparable = verified > 0 && Number(counted['converted']) <= verified
  const comparable = (figures: ViewFigures) => ({
    ...figures,
    avgQuality: near(figures['avgQuality']),
    converted: isComparable ? near(figures['converted']) : undefined,
  })
  assert.deepEqual(comparable(shown), comparable(counted), `since ${since}`)
}

const share = fc.integer({ min: 0, max: 1_000 })
const flags = fc.subarray(['replay', 'no_focus', 'no_probe'])
const command = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('view'),
      quality: share,
      verified: fc.boolean(),
      flags,
      sealed: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('open') }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('score'),
      of: share,
      quality: share,
      verified: fc.boolean(),
      flags,
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('beacons'),
      of: share,
      types: fc.array(fc.constantFrom('load', 'Scroll', 'click'), { minLength: 1, maxLength: 3 }),
      eventId: fc.constantFrom('a', 'b', undefined),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('convert'),
      of: share,
      value: fc.constantFrom(undefined, 0.1, 0.2, -7.35, 1e6),
      currency: fc.constantFrom(undefined, 'EUR', 'usd'),
      key: fc.constantFrom(undefined, 'once'),
      times: fc.constantFrom(1, 3),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('erase'), of: share }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('retention') }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('merge') }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('wait'), minutes: fc.integer({ min: 1, max: 90 }) }) },
)
type Command = typeof command extends fc.Arbitrary<infer T> ? T : never
type KnownView = Awaited<ReturnType<typeof makeScoredSession>>
type State = { readonly views: KnownView[]; readonly open: KnownView[]; merged: number }

const componentsOfTest = { focus: 1, probe: 1, input: null, gaze: null, device: null, history: null }

const pick = (list: readonly KnownView[], of: number) => list[of % Math.max(list.length, 1)]
type CommandOf<Name extends Command['do']> = Extract<Command, { do: Name }>
type Run<Name extends Command['do']> = (
  harness: Harness,
  agent: Agent,
  state: State,
  one: CommandOf<Name>,
) => Promise<void>

const storeView: Run<'view'> = async (
  harness,
  agent,
  state,
  { quality, verified, flags: marked, sealed },
) => {
  state.views.push(
    await makeScoredSession(harness, agent, {
      quality: quality / 1_000,
      verified,
      flags: marked,
      ...(sealed ? { credentialId: `crd_${state.views.length}` } : {}),
    }),
  )
}

const openView: Run<'open'> = async (harness, agent, state) => {
  const sessionId = harness.ctx.ids.make('ses_')
  const key = { agentId: agent.agentId, mode: agent.mode, sessionId }
  await inTransaction(harness.ctx, agent.agentId, (tx) =>
    insertUnscoredSession(tx, key, { kind: 'view', status: 'open', simulated: false }),
  )
  const { rows } = await harness.owner.query<{ at: Date }>('select at from sessions where session_id = $1', [
    sessionId,
  ])
  state.open.push({ ...key, viewedAt: rows[0]?.at ?? new Date(), vt: '' })
}

const scoreView: Run<'score'> = async (harness, agent, state, one) => {
  const view = pick(state.open, one.of)
  if (!view) return
  await harness.owner.query(
    "update sessions set status = 'closed' where session_id = $1 and status = 'open'",
    [view.sessionId],
  )
  const score = {
    quality: one.quality / 1_000,
    verified: one.verified,
    flags: one.flags,
    assurance: 'low' as const,
    scoring: 'test',
    components: componentsOfTest,
    reasons: [],
    evidence: [],
    salt: Buffer.alloc(32),
    counted: null,
  }
  await inTransaction(harness.ctx, agent.agentId, (tx) =>
    updateSessionsScored(tx, [{ rowKey: { ...view, at: view.viewedAt }, ...score }]),
  )
}

/** At the same time: only the lock of the view says which of them is the first. */
const sendBeacons: Run<'beacons'> = async (harness, _, state, { of, types, eventId }) => {
  const vt = pick(state.views, of)?.vt
  await Promise.all(
    types.map((type) => harness.call('POST', '/api/track/event', { body: { vt, type, eventId } })),
  )
}

const convertView: Run<'convert'> = async (harness, agent, state, { of, value, currency, key, times }) => {
  const body = { vt: pick(state.views, of)?.vt ?? 'none', name: 'purchase', value, currency }
  const headers: Record<string, string> =
    key === undefined ? {} : { 'idempotency-key': `${key}-${body.vt.slice(-20)}` }
  await Promise.all(
    Array.from({ length: times }, () =>
      harness.call('POST', '/api/agents/track/conversion', { key: agent.apiKey, body, headers }),
    ),
  )
}

const eraseView: Run<'erase'> = async (harness, agent, state, { of }) => {
  const view = pick(state.views, of)
  if (view)
    await inTransaction(harness.ctx, agent.agentId, (tx) => eraseSession(tx, { ...view, at: view.viewedAt }))
}

const runCommand = async (harness: Harness, agent: Agent, state: State, one: Command): Promise<void> => {
  if (one.do === 'view') await storeView(harness, agent, state, one)
  if (one.do === 'open') await openView(harness, agent, state, one)
  if (one.do === 'score') await scoreView(harness, agent, state, one)
  if (one.do === 'beacons') await sendBeacons(harness, agent, state, one)
  if (one.do === 'convert') await convertView(harness, agent, state, one)
  if (one.do === 'erase') await eraseView(harness, agent, state, one)
  if (one.do === 'retention') await inTransaction(harness.ctx, 'system', (tx) => deleteVisitorSessions(tx, 0))
  if (one.do === 'merge') state.merged += await mergeSlotsJob(harness.ctx).run()
  if (one.do === 'wait') await harness.advance(one.minutes * minuteMs)
}

test(
  'after any history the hourly figures equal a count of the rows, from any time on',
  { timeout: 240_000 },
  async (t) => {
    const harness = await startHarness()
    const seen = { commands: 0, repeatedConversions: 0, engaged: 0, flagged: 0, deleted: 0, merged: 0 }
    const history = fc.record({
      mode: fc.constantFrom('live', 'test'),
      commands: fc.array(command, { minLength: 20, maxLength: 45, size: 'max' }),
      sinceMinutes: fc.array(fc.integer({ min: 0, max: 2_000 }), { minLength: 3, maxLength: 3 }),
    })
    await fc.assert(
      fc.asyncProperty(history, async ({ mode, commands: list, sinceMinutes }) => {
        const [agent, other] = [await harness.register(mode), await harness.register('test')]
        const state: State = { views: [], open: [], merged: 0 }
        await makeScoredSession(harness, other)
        for (const one of list) await runCommand(harness, agent, state, one)
        seen.commands += list.length
        const { rows } = await harness.owner.query<{ now: Date }>('select pohf_now() as now')
        const now = rows[0]?.now.getTime() ?? 0
        const hourMs = 60 * minuteMs
        for (const ms of [
          0,
          Math.floor(now / hourMs) * hourMs,
          ...sinceMinutes.map((n) => now - n * minuteMs),
        ])
          await assertExact(harness, agent, new Date(ms).toISOString())
        const counted = await recount(harness, agent, new Date(0).toISOString())
        seen.repeatedConversions += Number(counted['conversions']) - Number(counted['converted'])
        seen.engaged += Number(counted['engaged'])
        seen.flagged += Object.keys(counted['flags'] as object).length
        seen.merged += state.merged
        seen.deleted += state.views.length + state.open.length - Number(counted['views'])
      }),
      { numRuns: 12, seed: 23 },
    )
    t.diagnostic(JSON.stringify(seen))
    for (const [name, count] of Object.entries(seen)) assert.ok(count > 5, `too few: ${name}`)
  },
)

test('views that start together are all counted, and two histories at once do not block each other for good', async () => {
  const harness = await startHarness()
  const agent = await harness.register('live')
  await Promise.all(
    Array.from({ length: 60 }, (_, n) =>
      makeScoredSession(harness, agent, { flags: n % 2 ? ['replay', 'no_focus'] : ['no_focus', 'replay'] }),
    ),
  )
  await assertExact(harness, agent, new Date(0).toISOString())
  assert.equal((await read(harness, agent, new Date(0).toISOString()))['views'], 60)
})

test('rows that are written while others are merged are all counted, and one row is left for each key', async () => {
  const harness = await startHarness()
  const agent = await harness.register('live')
  const since = new Date(0).toISOString()
  const merge = () => mergeSlotsJob(harness.ctx).run()
  let merged = 0
  for (let round = 0; round < 12; round++) {
    const writers = await Promise.all(
      Array.from({ length: 8 }, () => makeScoredSession(harness, agent, { flags: ['replay'] })),
    )
    await harness.advance(3 * 60 * minuteMs)
    // Views of three hours ago are deleted beside the merge of their figures.
    const counts = [merge(), merge()]
    await Promise.all(
      writers
        .slice(4)
        .map(({ sessionId }) =>
          harness.owner.query('delete from sessions where session_id = $1', [sessionId]),
        ),
    )
    for (const count of counts) merged += await count
    await assertExact(harness, agent, since)
  }
  await harness.advance(3 * 60 * minuteMs)
  merged += await merge()
  assert.ok(merged > 20, `only ${merged} rows were merged`)
  assert.equal(await merge(), 0)
  await assertExact(harness, agent, since)
  const lately = new Date(harness.ctx.clock.now().getTime() - 3 * 24 * 60 * minuteMs).toISOString()
  const report = await harness.call('GET', `/api/agents/metrics/attention?since=${lately}`, {
    key: agent.apiKey,
  })
  const scored = report.json.quality.reduce((sum: number, { views }: { views: number }) => sum + views, 0)
  assert.equal(scored, 48)
  for (const table of ['view_hours', 'view_flag_hours', 'session_hours']) {
    const { rows } = await harness.owner.query<{ slots: number[] }>(
      `select array_agg(distinct slot)::int[] as slots from ${table}`,
    )
    assert.deepEqual(rows[0]?.slots, [0], table)
  }
})

test('figures of beacons go with their partitions, and those of kept months stay exact', async () => {
  const harness = await startHarness()
  const agent = await harness.register('live')
  const visit = async () => {
    const { vt } = await makeScoredSession(harness, agent)
    await harness.call('POST', '/api/track/event', { body: { vt, type: 'click' } })
  }
  await visit()
  await harness.advance(7 * monthMs)
  await harness.runJobs()
  await visit()
  const middle = new Date(harness.ctx.clock.now().getTime() - monthMs)
  assert.equal((await read(harness, agent, new Date(0).toISOString()))['landed'], 2)
  await harness.advance(8 * monthMs)
  await harness.runJobs()
  assert.equal((await read(harness, agent, new Date(0).toISOString()))['landed'], 1)
  const { rows } = await harness.owner.query<{ n: number }>('select count(*)::int as n from track_events')
  assert.equal(rows[0]?.n, 1)
  await assertExact(harness, agent, middle.toISOString())
})

test('nobody but the rows themselves writes the figures', async () => {
  const harness = await startHarness()
  for (const table of ['view_hours', 'view_flag_hours', 'beacon_hours', 'conversion_hours'])
    await assert.rejects(
      harness.ctx.db.pool.query(`update ${table} set mode = mode`),
      /permission denied/,
      table,
    )
})
