// What each operation costs: CPU of the api and the signer, CPU of PostgreSQL and bytes on its disk, for each call.
import { cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { tableOf } from '../../ci/pages/markdown.ts'
import { today, writeReport } from '../../report.ts'
import { median } from '../median.ts'
import { cpuOfServers, startServers } from '../verify-fixture.ts'
import type { Operation } from './operations.ts'
import { isolationCosts, isolationTable, type IsolationRound } from './isolation.ts'
import { concurrency, openSite, runAll, type Site } from './site.ts'

/** CPU in microseconds and bytes, for each call. */
type Cost = { readonly api: number; readonly signer: number; readonly pg: number; readonly bytes: number }
type CostOptions = { readonly calls: number; readonly rounds: number }

/** All tables with their indexes, and not the write-ahead log, which is used again. */
const databaseBytes = async ({ client }: Site): Promise<number> => {
  const { rows } = await client.query<{ bytes: string }>(
    'select pg_database_size(current_database()) as bytes',
  )
  return Number(rows[0]?.bytes)
}

const measure = async (site: Site, operation: Operation, count: number): Promise<Cost> => {
  const calls = await operation.prepare(count)
  await site.client.query('checkpoint')
  const [before, bytesBefore] = [cpuOfServers(site.servers), await databaseBytes(site)]
  await runAll(calls)
  const [after, bytesAfter] = [cpuOfServers(site.servers), await databaseBytes(site)]
  return {
    api: (after.api - before.api) / count,
    signer: (after.signer - before.signer) / count,
    pg: (after.pg - before.pg) / count,
    bytes: (bytesAfter - bytesBefore) / count,
  }
}

const measureAll = async (site: Site, { calls, rounds }: CostOptions): Promise<Map<string, Cost[]>> => {
  for (const operation of site.operations) await measure(site, operation, concurrency * 8)
  const costs = new Map<string, Cost[]>()
  for (let round = 0; round < rounds; round++)
    for (const operation of site.operations)
      costs.set(operation.name, [...(costs.get(operation.name) ?? []), await measure(site, operation, calls)])
  return costs
}

const figuresOf = (costs: ReadonlyMap<string, readonly Cost[]>) =>
  [...costs].map(([operation, rounds]) => {
    const middle = (name: keyof Cost) => Math.round(median(rounds.map((round) => round[name])))
    const cost = { api: middle('api'), signer: middle('signer'), pg: middle('pg'), bytes: middle('bytes') }
    return { operation, ...cost, ceiling: Math.floor(2_000_000 / (cost.api + cost.signer + cost.pg)) }
  })
type CostFigures = ReturnType<typeof figuresOf>

const tableOfFigures = (figures: CostFigures): string =>
  tableOf(
    ['Operation', 'api µs', 'signer µs', 'PostgreSQL µs', 'bytes', 'calls/s of 2 cores, computed'],
    figures.map(({ operation, api, signer, pg, bytes, ceiling }) => [
      operation,
      ...[api, signer, pg, bytes, ceiling].map((value) => value.toLocaleString('en')),
    ]),
  )

type CostReport = {
  readonly figures: CostFigures
  readonly costs: ReadonlyMap<string, readonly Cost[]>
  readonly isolation: readonly IsolationRound[]
  readonly load: number
}

const tableOfRounds = (costs: CostReport['costs']): string =>
  tableOf(
    ['Operation', 'CPU of all processes in each round, µs'],
    [...costs].map(([operation, rounds]) => [
      operation,
      rounds.map(({ api, signer, pg }) => Math.round(api + signer + pg).toLocaleString('en')).join(', '),
    ]),
  )

const report = ({ figures, costs, isolation, load }: CostReport, { calls, rounds }: CostOptions): void =>
  writeReport(
    'costs.md',
    `# What each operation costs, ${today()}

\`npm run bench -- costs --calls ${calls} --rounds ${rounds} --report\`: ${calls} calls of each kind in each of ${rounds} rounds, in turn, ${concurrency} at a time; medians. One api
process, one signer, PostgreSQL that waits for its disk, no worker; ${cpus().length} cores, Node ${process.version}, load average at the start
${load.toFixed(1)}. The caller shares the machine and is not counted. Bytes are those of the tables with their indexes, dead rows
included. With few calls at a time batches are small: [verify under load](2026-11-17-verify.md) costs less.

${tableOfFigures(figures)}

The last column is computed: two cores that do nothing else. One api process uses one core, so it needs a second one where
the api takes most.

${tableOfRounds(costs)}

## Row-level security

The statement that reads a session by its key, in a transaction that sets the tenant, by pgbench with 4 connections: as the role of the api, and as a
role that row-level security does not apply to. In turns.

${isolationTable(isolation)}
`,
  )

export const costs = async () => {
  const { values } = parseArgs({
    args: process.argv.slice(2),
    strict: false,
    options: {
      calls: { type: 'string', default: '1000' },
      rounds: { type: 'string', default: '5' },
      report: { type: 'boolean', default: false },
    },
  })
  const options = { calls: Number(values.calls), rounds: Number(values.rounds) }
  const load = loadavg()[0] ?? NaN
  const servers = await startServers([{ REGISTER_LIMIT_PER_HOUR: '1000000' }])
  try {
    const site = await openSite(servers)
    try {
      const measured = await measureAll(site, options)
      const figures = figuresOf(measured)
      const isolation = await isolationCosts(site, options.rounds)
      if (!process.argv.includes('--json'))
        console.log(`${tableOfFigures(figures)}\n\n${isolationTable(isolation)}`)
      if (values.report === true) report({ figures, costs: measured, isolation, load }, options)
      return { figures, isolation }
    } finally {
      await site.client.end()
    }
  } finally {
    await servers.close()
  }
}
