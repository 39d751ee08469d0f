import { loadavg } from 'node:os'
import { cpuOfProcessTree } from '../../../packages/server/test/fixtures/processes/cpu.ts'
import { mergeSlotsJob } from '../../../packages/server/src/platform/db/maintenance.ts'
import { makeAttentionStore } from '../../../packages/server/src/tracking/index.ts'
import { closingAfter } from '../../driver/closing.ts'
import { programOf, step } from '../../driver/program.ts'
import { tableOfRecords } from '../../driver/report.ts'
import { openAgentFixture, type AgentFixture } from '../lists/agent-fixture.ts'
import { quantile, rounded, sum } from '../../driver/rounds.ts'

const days = 30
const dayMs = 86_400_000
/** Of each view: itself, a beacon of 8 in 10, a second of 5 in 10, a conversion of 1 in 10. */
const rowsPerView = 2.4
/** Rows that the service's own triggers count; of more rows, these are the first, and the others are copies of them. */
const countedRows = 1_000_000

const makeMonths = async ({ owner }: AgentFixture): Promise<void> => {
  for (const table of ['sessions', 'track_events', 'conversions'])
    await owner.query(`call pohf_make_partitions('${table}', pohf_now() - interval '${days + 1} days', 3)`)
}

const pages = 40

/** The numbers of the pages of each day, as the first beacons of a day would take them. */
const nameDays = async ({ owner, agentId }: AgentFixture): Promise<void> => {
  await owner.query(
    `select attention_page($1, 'live', day, '/page/' || n), attention_segment($1, 'live', day, 'shop.example', null),
       attention_segment($1, 'live', day, 'news.example', null)
     from generate_series(now() - interval '${days + 1} days', now() + interval '1 day', interval '1 day') day,
       generate_series(1, ${pages}) n order by day, n`,
    [agentId],
  )
}

/** Fills views, spread evenly over 30 days, with their beacons and conversions. */
const fillViews = async ({ owner, agentId }: AgentFixture, count: number): Promise<void> => {
  const at = `now() - make_interval(secs => ${days * 86_400} * (1 - i::float8 / ${count}) + 5)`
  const views = `select i, ${at} as at from generate_series(0, ${count - 1}) i`
  await owner.query(
    `insert into sessions (agent_id, session_id, at, mode, kind, status, ended_at, quality, verified, assurance,
       components, flags, hostname, jkt, counted)
     select $1, 'ses_' || i, at, 'live', 'view', 'scored', at + make_interval(secs => 2 + i % 20), (i % 1000) / 1000.0,
       i % 10 < 9, 'low', '{"focus":1,"probe":0.75,"input":null,"gaze":null,"device":null,"history":null}',
       case i % 10 when 9 then '{replay,no_focus}'::text[] when 8 then '{no_focus}' else '{}' end,
       case i % 2 when 0 then 'shop.example' else 'news.example' end, 'thumbprint', '{"probes":3,"hits":2}'
     from (${views}) v`,
    [agentId],
  )
  await owner.query(
    `insert into track_events (agent_id, mode, session_id, seq, at, viewed_at, type, path, first_engagement, segment, page)
     select $1, 'live', 'ses_' || i, seq, at + make_interval(secs => seq), at,
       case seq when 1 then 'load' else 'scroll' end, '/page/' || 1 + i % ${pages}, seq = 2, 1 + i % 2, 1 + i % ${pages}
     from (${views}) v, generate_series(1, 2) seq where i % 10 < case seq when 1 then 8 else 5 end`,
    [agentId],
  )
  await owner.query(
    `insert into conversions (agent_id, event_id, at, mode, session_id, viewed_at, name, value, currency, first_of_view,
       segment)
     select $1, 'evt_' || i, at + interval '3 seconds', 'live', 'ses_' || i, at, 'purchase', (i % 997) / 10.0, 'EUR', true,
       1 + i % 2
     from (${views}) v where i % 10 = 0`,
    [agentId],
  )
}

/** Of each table of figures: what names its rows beside the slot, what is added up, and which of it are lists. */
const figureTables = [
  {
    table: 'view_hours',
    keys: 'agent_id, mode, hour, segment',
    sums: 'views verified rejected scored quality probes passed opened finished abandoned',
    lists: 'qualities durations',
  },
  { table: 'view_flag_hours', keys: 'agent_id, mode, hour, flag, segment', sums: 'views', lists: '' },
  { table: 'beacon_hours', keys: 'agent_id, mode, hour, segment', sums: 'landed engaged', lists: '' },
  { table: 'landing_hours', keys: 'agent_id, mode, hour, segment, page', sums: 'landed engaged', lists: '' },
  { table: 'landing_days', keys: 'agent_id, mode, day, segment, page', sums: 'landed engaged', lists: '' },
  {
    table: 'conversion_hours',
    keys: 'agent_id, mode, hour, currency, segment',
    sums: 'conversions converted valued total',
    lists: '',
  },
] as const

/** The connections of a service write to this many rows for each hour (`pohf_hour_slot`). */
const slots = 4

/**
 * Counts each row `copies` times, as many connections would have: a quarter of it in each slot. Written by the triggers, this
 * would take an hour for 50 million rows. The comparison with a count of all rows would find a wrong sum.
 */
const multiplyFigures = async ({ owner }: AgentFixture, copies: number): Promise<void> => {
  for (const { table, keys, sums, lists } of figureTables) {
    const names = `${sums} ${lists}`.trim().split(' ')
    const times = (name: string) =>
      lists.split(' ').includes(name)
        ? `(select array_agg(n * share order by place) from unnest(${name}) with ordinality list (n, place))`
        : `${name} * share`
    await owner.query(`create temporary table counted as select * from ${table}`)
    await owner.query(`delete from ${table}`)
    await owner.query(
      `insert into ${table} (${keys}, slot, ${names.join(', ')})
       select ${keys}, (slot + shift) % ${slots}, ${names.map(times).join(', ')}
       from counted, generate_series(0, ${slots - 1}) shift,
         lateral (select ${copies} / ${slots} + (shift < ${copies} % ${slots})::int as share) shares
       where share > 0`,
    )
    await owner.query('drop table counted')
  }
}

/** Copies of all rows with ids of their own, day by day as they would have come, without the triggers. */
const copyRows = async ({ owner }: AgentFixture, copies: number): Promise<void> => {
  const tables = [
    { table: 'sessions', id: 'session_id' },
    { table: 'track_events', id: 'session_id' },
    { table: 'conversions', id: 'event_id' },
  ]
  await owner.query("set session_replication_role = 'replica'")
  for (const { table, id } of tables) {
    const { rows } = await owner.query<{ name: string }>(
      `select quote_ident(attname) as name from pg_attribute
       where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = ''`,
      [table],
    )
    const names = rows.map(({ name }) => name)
    const values = names.map((name) => (name === id ? `${name} || '_' || copy` : name))
    await owner.query(`create temporary table counted as select * from ${table}`)
    const firstDay = Date.now() - (days + 1) * dayMs
    for (let day = 0; day <= days + 1; day++)
      await owner.query(
        `insert into ${table} (${names.join(', ')}) select ${values.join(', ')}
         from counted, generate_series(1, ${copies - 1}) copy
         where at >= $1 and at < $2 order by at`,
        [0, 1].map((end) => new Date(firstDay + (day + end) * dayMs)),
      )
    await owner.query('drop table counted')
  }
  await owner.query('reset session_replication_role')
}

const rawCount = `with views as materialized (
    select verified, quality, flags from sessions where agent_id = $1 and mode = 'live' and kind = 'view' and at >= $2)
  select (select count(*)::int from views) as views, (select count(*)::int from views where verified) as verified,
    (select round(avg(quality::numeric), 9)::float8 from views) as quality,
    (select count(*)::int from views, unnest(flags) f where f = 'no_focus') as flagged,
    (select count(distinct session_id)::int from track_events
      where agent_id = $1 and mode = 'live' and viewed_at >= $2 and at >= $2) as landed,
    (select count(distinct session_id)::int from track_events
      where agent_id = $1 and mode = 'live' and viewed_at >= $2 and at >= $2 and type = 'scroll') as engaged,
    (select count(*)::int from conversions where agent_id = $1 and mode = 'live' and viewed_at >= $2) as conversions,
    (select sum(value::numeric)::float8 from conversions
      where agent_id = $1 and mode = 'live' and viewed_at >= $2) as value,
    (select count(*)::int from views where quality >= 0.6 and quality < 0.65) as bucket,
    (select count(distinct session_id)::int from track_events
      where agent_id = $1 and mode = 'live' and viewed_at >= $2 and at >= $2 and path = '/page/1') as page`

/** Both endpoints beside a count of all rows, from one time on. */
const compareWithRows = async ({ get, owner, agentId }: AgentFixture, since: string) => {
  const startedAt = performance.now()
  const { rows } = await owner.query<Record<string, unknown>>(rawCount, [agentId, since])
  const rawMs = performance.now() - startedAt
  const { summary } = (await get(`/api/agents/metrics?limit=1&since=${since}`)) as {
    summary: { views: number; verified: number; avgQuality: number | null; flags: Record<string, number> }
  }
  const funnel = (await get(`/api/agents/metrics/funnel?since=${since}`)) as {
    landed: number
    engaged: number
    conversions: number
    value: Record<string, number>
  }
  const attention = (await get(`/api/agents/metrics/attention?since=${since}`)) as {
    quality: { views: number }[]
    pages: { path: string; landed: number }[]
  }
  const shown = {
    views: summary.views,
    verified: summary.verified,
    quality: summary.avgQuality === null ? null : rounded(summary.avgQuality, 9),
    flagged: summary.flags['no_focus'] ?? 0,
    landed: funnel.landed,
    engaged: funnel.engaged,
    conversions: funnel.conversions,
    value: funnel.value['EUR'] ?? null,
    bucket: attention.quality[12]?.views,
    page: attention.pages.find(({ path }) => path === '/page/1')?.landed,
  }
  const expected = rows[0] ?? {}
  for (const [name, value] of Object.entries(shown))
    if (value !== expected[name])
      throw new Error(`${name} since ${since}: answered ${String(value)}, counted ${String(expected[name])}`)
  return rawMs
}

const figuresOf = (list: readonly number[]) => ({
  p50Ms: rounded(quantile(list, 0.5)),
  p99Ms: rounded(quantile(list, 0.99)),
})

const kinds = ['page', 'since', 'funnel', 'attention', 'site', 'bareFunnel', 'bareAttention'] as const
type Kind = (typeof kinds)[number]

/** The statements of a report alone, in their transaction: what the engine itself takes. */
const makeEngineCall = ({ ctx, agentId }: AgentFixture) => {
  const store = makeAttentionStore(ctx)
  return (report: 'funnel' | 'attention', since: string): Promise<unknown> =>
    store[report](ctx, {
      agentId,
      mode: 'live',
      since: new Date(since),
      until: null,
      site: null,
      workflow: null,
    })
}

/** Pages of the default window, following the cursor, pages since any minute of 30 days, and reports, in turn. */
const measureCalls = async (fixture: AgentFixture, calls: number) => {
  const { get, postmaster } = fixture
  const bare = makeEngineCall(fixture)
  const times = Object.fromEntries(kinds.map((kind): [Kind, number[]] => [kind, []])) as Record<
    Kind,
    number[]
  >
  const timedCall = async <T>(kind: Kind, call: () => Promise<T>): Promise<T> => {
    const startedAt = performance.now()
    const answer = await call()
    times[kind].push(performance.now() - startedAt)
    return answer
  }
  const timed = (kind: Kind, path: string) => timedCall(kind, () => get(path))
  const databaseCpu = cpuOfProcessTree(postmaster)
  const cpu = process.cpuUsage()
  let cursor = ''
  for (let n = 0; n < calls; n++) {
    const since = new Date(Date.now() - Math.floor(Math.random() * days * 1_440) * 60_000).toISOString()
    const { nextCursor } = await timed('page', `/api/agents/metrics${cursor}`)
    cursor = typeof nextCursor === 'string' ? `?cursor=${nextCursor}` : ''
    await timed('since', `/api/agents/metrics?since=${since}`)
    await timed('funnel', `/api/agents/metrics/funnel?since=${since}`)
    await timedCall('bareFunnel', () => bare('funnel', since))
    await timed('attention', `/api/agents/metrics/attention?since=${since}&timezone=Europe/Berlin`)
    await timedCall('bareAttention', () => bare('attention', since))
    await timed('site', `/api/agents/metrics/attention?since=${since}&site=shop.example`)
  }
  const { user, system } = process.cpuUsage(cpu)
  const perCall = (microseconds: number) => rounded(microseconds / 1_000 / (calls * kinds.length), 2)
  const ratio = (kind: Kind, alone: Kind) =>
    rounded(quantile(times[kind], 0.5) / quantile(times[alone], 0.5), 2)
  return {
    page: figuresOf(times.page),
    since: figuresOf(times.since),
    funnel: figuresOf(times.funnel),
    attention: figuresOf(times.attention),
    site: figuresOf(times.site),
    overhead: { funnel: ratio('funnel', 'bareFunnel'), attention: ratio('attention', 'bareAttention') },
    p99Ms: Math.max(...Object.values(times).map((list) => rounded(quantile(list, 0.99)))),
    nodeCpuMs: perCall(user + system),
    databaseCpuMs: perCall(cpuOfProcessTree(postmaster) - databaseCpu),
  }
}

/** Metrics and funnel of one agent with so many rows; every figure is compared with a count of the rows. */
const measureSize = (rows: number, calls: number) =>
  closingAfter(async (defer) => {
    const fixture = await openAgentFixture({ shared_buffers: '512MB', max_wal_size: '8GB' })
    defer(fixture.close)
    await makeMonths(fixture)
    await nameDays(fixture)
    const copies = Math.ceil(rows / countedRows)
    const views = Math.round(rows / copies / rowsPerView)
    const startedAt = performance.now()
    await fillViews(fixture, views)
    if (copies > 1) {
      await multiplyFigures(fixture, copies)
      await copyRows(fixture, copies)
    }
    // As the worker does, until nothing is left to merge.
    while ((await mergeSlotsJob(fixture.ctx).run()) > 0);
    await fixture.owner.query('vacuum analyze')
    const fillSeconds = rounded((performance.now() - startedAt) / 1_000)
    const sinces = [days * 1_440, 10_000, 777].map((n) => new Date(Date.now() - n * 60_000).toISOString())
    const rawMs: number[] = []
    for (const since of sinces) rawMs.push(rounded(await compareWithRows(fixture, since)))
    return { rows, views: views * copies, fillSeconds, rawMs, ...(await measureCalls(fixture, calls)) }
  })
type Size = Awaited<ReturnType<typeof measureSize>>

/** A figure of each kind of call as p50 / p99. */
const shownOf = (size: Size) => ({
  rows: size.rows,
  ...Object.fromEntries(
    (['page', 'since', 'funnel', 'attention', 'site'] as const).map((kind) => [
      `${kind}, ms`,
      `${size[kind].p50Ms} / ${size[kind].p99Ms}`,
    ]),
  ),
  'funnel, attention / their statements alone': `${size.overhead.funnel}, ${size.overhead.attention}`,
  'CPU of a call: api / PostgreSQL, ms': `${size.nodeCpuMs} / ${size.databaseCpuMs}`,
  'count of all rows, ms': Math.max(...size.rawMs),
})

export const metrics = programOf({
  command: 'bench -- metrics',
  title: 'Metrics, funnel and attention of one agent',
  about: `Calls of each kind in turn, one at a time, in the process of the api, on PostgreSQL with hourly figures; p50 / p99. Rows are views, beacons and conversions of ${days} days, on two sites and ${pages} pages; all but \`page\` begin at any minute of them. "Count of all rows" is the same answer without hourly figures: its sums are equal, or the bench fails.`,
  options: { rows: ['1000000', '10000000'], calls: 200 },
  smoke: { rows: ['100000'], calls: 30 },
  minutes: ({ rows }) => 15 + sum(rows.map(Number)) / 100_000,
  run: async ({ rows, calls }) => {
    const sizes: Size[] = []
    for (const each of rows) {
      step(`${each} rows`)
      sizes.push(await measureSize(Number(each), calls))
    }
    const last = sizes.at(-1)
    const bareRatio = last && Math.max(last.overhead.funnel, last.overhead.attention)
    return {
      figures: {
        engine: 'postgresql',
        rows: last?.rows,
        p99Ms: last?.p99Ms,
        bareRatio,
        exact: true,
        sizes,
        loadAverage: loadavg().map((load) => rounded(load)),
      },
      tables: [tableOfRecords(sizes.map(shownOf))],
      holds: 'every figure is the count of the rows',
    }
  },
})
