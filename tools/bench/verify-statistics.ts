import { cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { tableOf } from '../ci/pages/markdown.ts'
import { today, writeReport } from '../report.ts'
import { agentCount, openVerifyFixture, type RunFigures, type VerifyFixture } from './verify-fixture.ts'
import { median } from './median.ts'

const connections = 64
type Side = { readonly others: number; readonly statistics: 'absent' | 'present' }
type SideMeasurements = Side & { readonly runs: RunFigures[]; readonly fixture: VerifyFixture }

const middleOf = ({ runs }: SideMeasurements) => ({
  rate: median(runs.map(({ rate }) => rate)),
  p99: median(runs.map(({ p99 }) => p99)),
  pgCpu: median(runs.map(({ pgCpu }) => pgCpu)),
  cpu: median(runs.map(({ pgCpu, apiCpu, signerCpu }) => pgCpu + apiCpu + signerCpu)),
})

const figuresTable = (sides: readonly SideMeasurements[]): string =>
  tableOf(
    ['Other agents', 'Statistics', 'Verifies/s', 'p99 ms', 'PostgreSQL CPU µs', 'CPU µs'],
    sides.map((side) => {
      const { rate, p99, pgCpu, cpu } = middleOf(side)
      return [
        side.others.toLocaleString('en'),
        side.statistics,
        ...[rate, p99, pgCpu, cpu].map((figure) => figure.toFixed(0)),
      ]
    }),
  )

/** Absent divided by present, in percent more. Each pair of one round is compared, so that the load of others matters less. */
const differences = (sides: readonly SideMeasurements[]) =>
  [...new Set(sides.map(({ others }) => others))].map((others) => {
    const runsOf = (statistics: Side['statistics']) =>
      sides.find((side) => side.others === others && side.statistics === statistics)?.runs ?? []
    const present = runsOf('present')
    const compare = (read: (run: RunFigures) => number) =>
      100 * (median(runsOf('absent').map((run, n) => read(run) / read(present[n] ?? run))) - 1)
    return {
      others,
      rate: compare(({ rate }) => rate),
      pgCpu: compare(({ pgCpu }) => pgCpu),
      cpu: compare(({ pgCpu, apiCpu, signerCpu }) => pgCpu + apiCpu + signerCpu),
    }
  })

const differencesTable = (sides: readonly SideMeasurements[]): string =>
  tableOf(
    ['Other agents', 'Verifies/s', 'PostgreSQL CPU', 'CPU'],
    differences(sides).map(({ others, rate, pgCpu, cpu }) => [
      others.toLocaleString('en'),
      ...[rate, pgCpu, cpu].map((percent) => `${percent > 0 ? '+' : ''}${percent.toFixed(1)} %`),
    ]),
  )

const openSides = async (others: number): Promise<SideMeasurements[]> => {
  const sides: SideMeasurements[] = []
  for (const count of others > 0 ? [0, others] : [0])
    for (const statistics of ['absent', 'present'] as const)
      sides.push({
        others: count,
        statistics,
        runs: [],
        fixture: await openVerifyFixture({ statistics, others: count, apis: [{}] }),
      })
  return sides
}

/** Verify with 64 connections, on databases that were never analysed and on analysed ones, in turns. */
export const verifyStatistics = async () => {
  const { values } = parseArgs({
    args: process.argv.slice(2),
    strict: false,
    options: {
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '5' },
      others: { type: 'string', default: '100000' },
      report: { type: 'boolean', default: false },
    },
  })
  const [rounds, seconds] = [Number(values.rounds), Number(values.seconds)]
  const load = loadavg()[0] ?? NaN
  const sides = await openSides(Number(values.others))
  try {
    for (const { fixture } of sides) await fixture.measureHttp({ crowd: 'many', connections, seconds: 2 })
    for (let round = 0; round < rounds; round++)
      for (const { fixture, runs } of sides)
        runs.push(await fixture.measureHttp({ crowd: 'many', connections, seconds }))
    console.log(`${figuresTable(sides)}\n\n${differencesTable(sides)}`)
    if (values.report === true)
      writeReport(
        'verify-statistics.md',
        `# Verify with and without statistics, ${today()}

\`npm run bench -- verify-statistics --others ${String(values.others)} --rounds ${rounds} --seconds ${seconds} --report\`: \`POST /api/agents/verify\` over HTTP, ${agentCount}
agents, ${connections} connections. Each line is a PostgreSQL of its own with its own api and signer. "absent": no table was ever analysed,
as after a restore or an upgrade. "present": all tables are analysed before each run. The other agents have keys, accounts and
history. ${rounds} rounds of ${seconds} s, interleaved; the figures are medians. ${cpus().length} cores, Node ${process.version}, load average at the start ${load.toFixed(1)}:
above ${cpus().length}, others took part of the machine, and CPU for each verify is the steadier figure.

${figuresTable(sides)}

Absent against present, the median of the rounds' pairs. The goal is a difference of at most 10 %.

${differencesTable(sides)}
`,
      )
    return { differences: differences(sides) }
  } finally {
    for (const { fixture } of sides) await fixture.close()
  }
}
