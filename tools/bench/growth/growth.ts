// What an operation costs when the database grows: CPU of the api, the signer and PostgreSQL for each call.
import { cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { fillBackground } from '../../../packages/server/test/fixtures/plans/background.ts'
import { tableOf } from '../../ci/pages/markdown.ts'
import { today, writeReport } from '../../report.ts'
import { drawLineChart } from '../chart.ts'
import type { Operation } from './operations.ts'
import { concurrency, openSite, runAll, type Site } from './site.ts'
import { median } from '../median.ts'
import { cpuOfServers, startServers } from '../verify-fixture.ts'

/** The tables that grow with every session, credential, event and beacon. */
const grownTables: readonly string[] = [
  'sessions',
  'session_claims',
  'session_keys',
  'session_recorders',
  'session_chunks',
  'stroke_sketches',
  'attention_claims',
  'credentials',
  'credential_claims',
  'credential_states',
  'status_entries',
  'events',
  'root_sessions',
  'root_counters',
  'track_views',
  'track_events',
  'webhook_deliveries',
  'webhook_attempts',
  'idempotency_keys',
]
/** Of other agents only: the accounts of the agent that is measured agree with their lines. */
const ledgerTables: readonly string[] = ['ledger_claims', 'ledger_entries', 'ledger_lines']

type Scale = 'x1' | 'agents' | 'x10' | 'x100'

type GrowthOptions = {
  readonly rows: number
  readonly agents: number
  readonly calls: number
  readonly rounds: number
}
type Costs = Map<string, Map<Scale, number[]>>

/** CPU microseconds for each call, of all processes of the service. */
const measure = async ({ servers, client }: Site, operation: Operation, count: number): Promise<number> => {
  const calls = await operation.prepare(count)
  await client.query('checkpoint')
  const before = cpuOfServers(servers)
  await runAll(calls)
  const after = cpuOfServers(servers)
  return (after.pg + after.api + after.signer - before.pg - before.api - before.signer) / count
}

const measureAll = async (site: Site, costs: Costs, scale: Scale, options: GrowthOptions): Promise<void> => {
  // Connections plan their statements again after an analyze; the first calls are not what a call costs.
  for (const operation of site.operations) await measure(site, operation, concurrency * 4)
  for (let round = 0; round < options.rounds; round++)
    for (const operation of site.operations) {
      const byScale = costs.get(operation.name) ?? new Map<Scale, number[]>()
      costs.set(operation.name, byScale)
      byScale.set(scale, [...(byScale.get(scale) ?? []), await measure(site, operation, options.calls)])
    }
}

const grow = async ({ servers, client, owner }: Site, from: number, rows: number): Promise<void> => {
  const size = { agents: 0, rows, first: from + 1 }
  await fillBackground(servers.databaseUrl, { ...size, tables: grownTables, owner })
  await fillBackground(servers.databaseUrl, { ...size, tables: ledgerTables })
  await client.query('vacuum analyze')
}

const figuresOf = (costs: Costs) =>
  [...costs].map(([operation, byScale]) => {
    const us = (scale: Scale) => Math.round(median(byScale.get(scale) ?? []))
    return { operation, x1Us: us('x1'), x10Us: us('x10'), x100Us: us('x100'), agentsUs: us('agents') }
  })
type GrowthFigures = ReturnType<typeof figuresOf>

const tableOfFigures = (figures: GrowthFigures): string =>
  tableOf(
    ['Operation', '1x µs', 'more agents µs', '10x µs', '100x µs', 'more agents / 1x', '100x / 1x'],
    figures.map(({ operation, x1Us, x10Us, x100Us, agentsUs }) => [
      operation,
      ...[x1Us, agentsUs, x10Us, x100Us].map((us) => us.toLocaleString('en')),
      ...[agentsUs, x100Us].map((us) => (us / x1Us).toFixed(2)),
    ]),
  )

const report = (
  figures: GrowthFigures,
  { rows, agents, calls, rounds }: GrowthOptions,
  load: number,
): void => {
  writeReport(
    'growth.svg',
    drawLineChart({
      title: 'CPU of a call, in percent of that at 1x',
      xName: `rows of each table, times ${rows.toLocaleString('en')}`,
      yName: 'percent',
      lines: figures.map(({ operation, x1Us, x10Us, x100Us }) => ({
        name: operation,
        points: [
          [1, 100],
          [10, (100 * x10Us) / x1Us],
          [100, (100 * x100Us) / x1Us],
        ],
      })),
    }),
  )
  writeReport(
    'growth.md',
    `# What a call costs when the database grows, ${today()}

\`npm run bench -- growth --rows ${rows} --agents ${agents} --calls ${calls} --rounds ${rounds} --report\`: CPU microseconds of the api, the signer and PostgreSQL for
each call, ${concurrency} calls at a time. At 1x, each of the ${grownTables.length + ledgerTables.length} tables that grow has ${rows.toLocaleString('en')} rows, at 100x ${(rows * 100).toLocaleString('en')}; one row in ten
is of the agent that calls, except in the ledger, and the times are spread over 90 days or 10 days. "More agents": at 1x, with
${agents.toLocaleString('en')} further agents, which are also there at 10x and 100x. Each figure is the median of ${rounds} rounds. ${cpus().length} cores, Node ${process.version}, load average at the start ${load.toFixed(1)}: above
${cpus().length}, others took part of the machine.

${tableOfFigures(figures)}

![CPU of a call against the rows of each table](${today()}-growth.svg)

The goals are 1.2 for 100 times the data and 1.1 for the further agents.
`,
  )
}

/** Measures the same operations with some data, with more agents, and then with 10 and 100 times the data. */
export const growth = async () => {
  const { values } = parseArgs({
    args: process.argv.slice(2),
    strict: false,
    options: {
      rows: { type: 'string', default: '5000' },
      agents: { type: 'string', default: '100000' },
      calls: { type: 'string', default: '200' },
      rounds: { type: 'string', default: '3' },
      report: { type: 'boolean', default: false },
    },
  })
  const options: GrowthOptions = {
    rows: Number(values.rows),
    agents: Number(values.agents),
    calls: Number(values.calls),
    rounds: Number(values.rounds),
  }
  const load = loadavg()[0] ?? NaN
  const servers = await startServers([{}])
  const costs: Costs = new Map()
  try {
    const site = await openSite(servers)
    try {
      const { rows, agents } = options
      await grow(site, 0, rows)
      await measureAll(site, costs, 'x1', options)
      await fillBackground(servers.databaseUrl, { agents, rows: 0 })
      await site.client.query('vacuum analyze')
      await measureAll(site, costs, 'agents', options)
      await grow(site, rows, rows * 10)
      await measureAll(site, costs, 'x10', options)
      await grow(site, rows * 10, rows * 100)
      await measureAll(site, costs, 'x100', options)
    } finally {
      await site.client.end()
    }
    const operations = figuresOf(costs)
    if (!process.argv.includes('--json')) console.log(tableOfFigures(operations))
    if (values.report === true) report(operations, options, load)
    return { operations, rows: options.rows, calls: options.calls, rounds: options.rounds }
  } finally {
    await servers.close()
  }
}
