import { loadavg } from 'node:os'
import { seedList, type ListName } from '../../../packages/server/test/fixtures/lists/rows.ts'
import { closingAfter } from '../../driver/closing.ts'
import { programOf, step } from '../../driver/program.ts'
import { tableOfFigures, tableOfRecords } from '../../driver/report.ts'
import { openAgentFixture, type AgentFixture } from './agent-fixture.ts'
import { quantile, rounded } from '../../driver/rounds.ts'

const limit = 100
const dayMs = 86_400_000
/** Credentials and sessions of 60 days; requests of 6 days, because a week is kept. */
const spanDays: Readonly<Record<ListName, number>> = { credentials: 60, sessions: 60, requests: 6 }
/** Each list as it is, and with filters that match one row in a hundred, in an order that no index has, or none. */
const passes: Readonly<Record<ListName, readonly string[]>> = {
  credentials: ['', '&kind=work', '&status=revoked', '&status=suspended'],
  sessions: ['', '&kind=work', '&verified=false', '&status=open'],
  requests: ['', '&status=4xx', '&endpoint=agents.profile'],
}

/** The partitions of the rows that are filled in. */
const makeMonths = async ({ owner }: AgentFixture): Promise<void> => {
  for (const table of ['sessions', 'credentials'])
    await owner.query(`call pohf_make_partitions('${table}', pohf_now() - interval '92 days', 4)`)
  await owner.query(`call pohf_make_days('request_log', pohf_now() - interval '8 days', 8)`)
}

/** Follows the cursor to the end of the list. The calls themselves are logged, so the list of requests ends before them. */
const readAll = async ({ get }: AgentFixture, list: ListName, filter: string, until: string) => {
  const times: number[] = []
  let rows = 0
  let cursor = ''
  do {
    const startedAt = performance.now()
    const page = await get(`/api/agents/${list}?limit=${limit}&until=${until}${filter}${cursor}`)
    times.push(performance.now() - startedAt)
    rows += (page[list] as unknown[]).length
    cursor = typeof page['nextCursor'] === 'string' ? `&cursor=${page['nextCursor']}` : ''
  } while (cursor !== '')
  return { rows, times }
}

const measureList = async (fixture: AgentFixture, list: ListName, count: number) => {
  const newest = new Date(Date.now() - 60_000)
  const stepMs = Math.floor((spanDays[list] * dayMs) / count)
  await seedList(fixture.owner, list, { agentId: fixture.agentId, mode: 'live', newest, stepMs, count })
  const tables = {
    credentials: 'credentials, credential_states, credential_claims',
    sessions: 'sessions',
    requests: 'request_log',
  }
  await fixture.owner.query(`vacuum analyze ${tables[list]}`)
  const until = new Date(newest.getTime() + 1_000).toISOString()
  // The first calls open connections and make the plans.
  for (let n = 0; n < 5; n++) await fixture.get(`/api/agents/${list}?limit=${limit}`)
  const results = []
  step(`pages of ${list}`)
  for (const filter of passes[list]) {
    const { rows, times } = await readAll(fixture, list, filter, until)
    if (filter === '' && rows !== count)
      throw new Error(`the pages of ${list} hold ${rows} rows, expected ${count}`)
    results.push({
      list,
      filter: filter.slice(1),
      rows,
      pages: times.length,
      p50Ms: rounded(quantile(times, 0.5)),
      p99Ms: rounded(quantile(times, 0.99)),
      maxMs: rounded(Math.max(...times)),
    })
  }
  return results
}

const slowest = (results: readonly { readonly p99Ms: number }[]): number =>
  Math.max(...results.map(({ p99Ms }) => p99Ms))

/** Every list of one agent with so many rows, page by page to its end, with and without filters. */
export const measureLists = (rows: number) =>
  closingAfter(async (defer) => {
    const fixture = await openAgentFixture({ shared_buffers: '256MB', max_wal_size: '4GB' })
    defer(fixture.close)
    await makeMonths(fixture)
    const results = []
    for (const list of Object.keys(passes) as ListName[])
      results.push(...(await measureList(fixture, list, rows)))
    return {
      rows,
      p99Ms: slowest(results.filter(({ filter }) => filter === '')),
      filteredP99Ms: slowest(results.filter(({ filter }) => filter !== '')),
      passes: results,
      loadAverage: loadavg().map((load) => rounded(load)),
    }
  })

export const lists = programOf({
  command: 'bench -- lists',
  title: 'Pages of every list of one agent',
  about: `Pages of ${limit} rows from the newest to the oldest, one call at a time, in the process of the api, with and without filters. A page with a filter reads at most 500 rows, so it may be short.`,
  options: { rows: 100_000 },
  smoke: { rows: 2_000 },
  minutes: ({ rows }) => 10 + rows / 2_000,
  run: async ({ rows }) => {
    const figures = await measureLists(rows)
    return {
      figures,
      tables: [tableOfRecords(figures.passes), tableOfFigures(figures)],
      holds: 'the pages of each list hold every row',
    }
  },
})
