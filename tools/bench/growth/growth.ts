// What an operation costs when the database grows: CPU of the api, the signer and PostgreSQL for each call.
import { fillBackground } from '../../../packages/server/test/fixtures/plans/background.ts'
import { drawLineChart } from '../../driver/chart.ts'
import { closingAfter } from '../../driver/closing.ts'
import { programOf, step } from '../../driver/program.ts'
import { tableOfRecords } from '../../driver/report.ts'
import type { Operation } from './operations.ts'
import { concurrency, openSite, runAll, type Site } from './site.ts'
import { cpuOfServers } from '../verify-fixture.ts'
import { median, rounded } from '../../driver/rounds.ts'

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

/** Measures the same operations with some data, with more agents, and then with 10 and 100 times the data. */
export const growth = programOf({
  command: 'bench -- growth',
  title: 'What a call costs when the database grows',
  about: `CPU microseconds of the api, the signer and PostgreSQL for each call, ${concurrency} calls at a time. At 1x, each of the ${grownTables.length + ledgerTables.length} tables that grow has \`--rows\` rows, at 100x a hundred times as many; one row in ten is of the agent that calls, except in the ledger, and the times are spread over 90 days or 10 days. \`agentsUs\`: at 1x, with \`--agents\` further agents, which are also there at 10x and 100x. Each figure is the median of the rounds. The goals are 1.2 for 100 times the data and 1.1 for the further agents.`,
  options: { rows: 5_000, agents: 100_000, calls: 200, rounds: 3 },
  smoke: { rows: 20, agents: 20, calls: 8, rounds: 1 },
  minutes: ({ rows, calls, rounds }) => 40 + rows / 200 + (calls * rounds) / 20,
  run: (options) =>
    closingAfter(async (defer) => {
      const { rows, agents, calls, rounds } = options
      const costs: Costs = new Map()
      const site = await openSite()
      defer(site.close)
      step('1x')
      await grow(site, 0, rows)
      await measureAll(site, costs, 'x1', options)
      step('more agents')
      await fillBackground(site.servers.databaseUrl, { agents, rows: 0 })
      await site.client.query('vacuum analyze')
      await measureAll(site, costs, 'agents', options)
      step('10x')
      await grow(site, rows, rows * 10)
      await measureAll(site, costs, 'x10', options)
      step('100x')
      await grow(site, rows * 10, rows * 100)
      await measureAll(site, costs, 'x100', options)
      const operations = figuresOf(costs)
      return {
        figures: { operations, rows, calls, rounds },
        tables: [
          tableOfRecords(
            operations.map((each) => ({
              ...each,
              'more agents / 1x': rounded(each.agentsUs / each.x1Us, 2),
              '100x / 1x': rounded(each.x100Us / each.x1Us, 2),
            })),
          ),
        ],
        charts: {
          growth: drawLineChart({
            title: 'CPU of a call, in percent of that at 1x',
            xName: `rows of each table, times ${rows.toLocaleString('en')}`,
            yName: 'percent',
            lines: operations.map(({ operation, x1Us, x10Us, x100Us }) => ({
              name: operation,
              points: [
                [1, 100],
                [10, (100 * x10Us) / x1Us],
                [100, (100 * x100Us) / x1Us],
              ],
            })),
          }),
        },
        holds: 'every call was answered',
      }
    }),
})
