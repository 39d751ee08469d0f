import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { cpuOfProcessTree } from '../../../packages/server/test/fixtures/processes/cpu.ts'
import { tableOf } from '../../ci/pages/markdown.ts'
import { today, writeReport } from '../../report.ts'
import { openAgentFixture, type AgentFixture } from '../lists/agent-fixture.ts'
import { quantile, rounded } from '../median.ts'

const days = 30
const callsDefault = 200
/** Of each view: itself, a beacon of 8 in 10, a second of 5 in 10, a conversion of 1 in 10. */
const rowsPerView = 2.4
/** Views that one statement fills. */
const chunk = 200_000

const makeMonths = async ({ owner }: AgentFixture): Promise<void> => {
  for (const table of ['sessions', 'track_events', 'conversions'])
    await owner.query(`call pohf_make_partitions('${table}', pohf_now() - interval '${days + 1} days', 3)`)
}

/** Fills views from..to of all, spread evenly over 30 days, with their beacons and conversions. */
const fillViews = async (
  { owner, agentId }: AgentFixture,
  from: number,
  to: number,
  all: number,
): Promise<void> => {
  const at = `now() - make_interval(secs => ${days * 86_400} * (1 - i::float8 / ${all}) + 5)`
  const views = `select i, ${at} as at from generate_series(${from}, ${to - 1}) i`
  await owner.query(
    `insert into sessions (agent_id, session_id, at, mode, kind, status, ended_at, quality, verified, assurance,
       components, flags)
     select $1, 'ses_' || i, at, 'live', 'view', 'scored', at, (i % 1000) / 1000.0, i % 10 < 9, 'low',
       '{"focus":1,"probe":0.75,"input":null,"gaze":null,"device":null,"history":null}',
       case i % 10 when 9 then '{replay,no_focus}'::text[] when 8 then '{no_focus}' else '{}' end
     from (${views}) v`,
    [agentId],
  )
  await owner.query(
    `insert into track_events (agent_id, mode, session_id, seq, at, viewed_at, type, path, first_engagement)
     select $1, 'live', 'ses_' || i, seq, at + make_interval(secs => seq), at,
       case seq when 1 then 'load' else 'scroll' end, '/page', seq = 2
     from (${views}) v, generate_series(1, 2) seq where i % 10 < case seq when 1 then 8 else 5 end`,
    [agentId],
  )
  await owner.query(
    `insert into conversions (agent_id, event_id, at, mode, session_id, viewed_at, name, value, currency, first_of_view)
     select $1, 'evt_' || i, at + interval '3 seconds', 'live', 'ses_' || i, at, 'purchase', (i % 997) / 10.0, 'EUR', true
     from (${views}) v where i % 10 = 0`,
    [agentId],
  )
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
      where agent_id = $1 and mode = 'live' and viewed_at >= $2) as value`

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
  const shown = {
    views: summary.views,
    verified: summary.verified,
    quality: summary.avgQuality === null ? null : rounded(summary.avgQuality, 9),
    flagged: summary.flags['no_focus'] ?? 0,
    landed: funnel.landed,
    engaged: funnel.engaged,
    conversions: funnel.conversions,
    value: funnel.value['EUR'] ?? null,
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

/** Pages of the default window, following the cursor, pages since any minute of 30 days, and funnels, in turn. */
const measureCalls = async ({ get, postmaster }: AgentFixture, calls: number) => {
  const times: Record<'page' | 'since' | 'funnel', number[]> = { page: [], since: [], funnel: [] }
  const timed = async (kind: keyof typeof times, path: string) => {
    const startedAt = performance.now()
    const answer = await get(path)
    times[kind].push(performance.now() - startedAt)
    return answer
  }
  const databaseCpu = cpuOfProcessTree(postmaster)
  const cpu = process.cpuUsage()
  let cursor = ''
  for (let n = 0; n < calls; n++) {
    const since = new Date(Date.now() - Math.floor(Math.random() * days * 1_440) * 60_000).toISOString()
    const { nextCursor } = await timed('page', `/api/agents/metrics${cursor}`)
    cursor = typeof nextCursor === 'string' ? `?cursor=${nextCursor}` : ''
    await timed('since', `/api/agents/metrics?since=${since}`)
    await timed('funnel', `/api/agents/metrics/funnel?since=${since}`)
  }
  const { user, system } = process.cpuUsage(cpu)
  const perCall = (microseconds: number) => rounded(microseconds / 1_000 / (calls * 3), 2)
  return {
    page: figuresOf(times.page),
    since: figuresOf(times.since),
    funnel: figuresOf(times.funnel),
    p99Ms: Math.max(...Object.values(times).map((list) => rounded(quantile(list, 0.99)))),
    nodeCpuMs: perCall(user + system),
    databaseCpuMs: perCall(cpuOfProcessTree(postmaster) - databaseCpu),
  }
}

/** Metrics and funnel of one agent with so many rows; every figure is compared with a count of the rows. */
const measureSize = async (rows: number, calls: number) => {
  const fixture = await openAgentFixture({ shared_buffers: '512MB', max_wal_size: '8GB' })
  try {
    await makeMonths(fixture)
    const views = Math.round(rows / rowsPerView)
    const startedAt = performance.now()
    for (let from = 0; from < views; from += chunk)
      await fillViews(fixture, from, Math.min(from + chunk, views), views)
    await fixture.owner.query('vacuum analyze sessions, track_events, conversions')
    const fillSeconds = rounded((performance.now() - startedAt) / 1_000)
    const sinces = [days * 1_440, 10_000, 777].map((n) => new Date(Date.now() - n * 60_000).toISOString())
    const rawMs: number[] = []
    for (const since of sinces) rawMs.push(rounded(await compareWithRows(fixture, since)))
    return { rows, views, fillSeconds, rawMs, ...(await measureCalls(fixture, calls)) }
  } finally {
    await fixture.close()
  }
}
type Size = Awaited<ReturnType<typeof measureSize>>

const report = (sizes: readonly Size[], calls: number, load: number): void =>
  writeReport(
    'metrics.md',
    `# Metrics and funnel of one agent, ${today()}

\`npm run bench -- metrics --rows ${sizes.map(({ rows }) => rows).join(',')} --report\`: ${calls} calls of each kind in turn, one at a time, in the
process of the api, on PostgreSQL with hourly figures. Load ${rounded(load)} at the end. Rows are views, beacons and conversions of
${days} days. "Count of all rows" is the same answer without hourly figures: its sums are equal, or the bench fails.

${tableOf(
  [
    'Rows',
    'Page p50 / p99, ms',
    'Page since any minute, ms',
    'Funnel, ms',
    'CPU of a call: api / PostgreSQL, ms',
    'Count of all rows, ms',
  ],
  sizes.map(({ rows, page, since, funnel, nodeCpuMs, databaseCpuMs, rawMs }) => [
    rows.toLocaleString('en'),
    ...[page, since, funnel].map(({ p50Ms, p99Ms }) => `${p50Ms} / ${p99Ms}`),
    `${nodeCpuMs} / ${databaseCpuMs}`,
    Math.max(...rawMs).toLocaleString('en'),
  ]),
)}
`,
  )

export const metrics = async (): Promise<Readonly<Record<string, unknown>>> => {
  const { values } = parseArgs({
    allowPositionals: true,
    options: {
      short: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      report: { type: 'boolean', default: false },
      rows: { type: 'string' },
    },
  })
  const calls = values.short ? 30 : callsDefault
  const sizes: Size[] = []
  for (const rows of (values.rows ?? (values.short ? '100000' : '1000000,10000000')).split(',')) {
    const size = await measureSize(Number(rows), calls)
    console.log(JSON.stringify(size))
    sizes.push(size)
  }
  if (values.report) report(sizes, calls, loadavg()[0] ?? NaN)
  return {
    engine: 'postgresql',
    rows: sizes.at(-1)?.rows,
    p99Ms: sizes.at(-1)?.p99Ms,
    exact: true,
    sizes,
    loadAverage: loadavg().map((load) => rounded(load)),
  }
}
