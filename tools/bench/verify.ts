import { drawLineChart } from '../driver/chart.ts'
import { closingAfter } from '../driver/closing.ts'
import { programOf, step } from '../driver/program.ts'
import { tableOfFigures, tableOfRounds, type Table } from '../driver/report.ts'
import { inTurns, mediansOf, rounded } from '../driver/rounds.ts'
import {
  agentCount,
  cpuOf,
  missingPgbench,
  openVerifyFixture,
  runCells,
  runColumns,
  type RunFigures,
  type VerifyFixture,
} from './verify-fixture.ts'

type Load = { readonly crowd: 'many' | 'hot'; readonly connections: number }
const loads = {
  pgMany: { crowd: 'many', connections: 64 },
  many64: { crowd: 'many', connections: 64 },
  pgHot: { crowd: 'hot', connections: 64 },
  hot64: { crowd: 'hot', connections: 64 },
  many256: { crowd: 'many', connections: 256 },
} as const satisfies Readonly<Record<string, Load>>
type Side = keyof typeof loads
const sides = Object.keys(loads) as Side[]
type Round = Readonly<Record<Side, RunFigures>> & { readonly load: number }

const measure = (fixture: VerifyFixture, side: Side, seconds: number): Promise<RunFigures> => {
  const options = { ...loads[side], seconds, networks: 'reserved' } as const
  return side.startsWith('pg') ? fixture.measurePgbench(options) : fixture.measureHttp(options)
}

/** The ratios of one round. CPU is everything that either side used for one verify, client left out. */
const ratiosOf = (round: Round) => ({
  many64: rounded(round.many64.rate / round.pgMany.rate, 3),
  many256: rounded(round.many256.rate / round.pgMany.rate, 3),
  hot64: rounded(round.hot64.rate / round.pgHot.rate, 3),
  pgCpuRatio: rounded(round.many64.pgCpu / round.pgMany.pgCpu, 3),
  p99Ratio: rounded(round.many64.p99 / round.pgMany.p99, 3),
  cpuUsPerVerify: rounded(cpuOf(round.many64), 0),
  cpuPerVerify: rounded(cpuOf(round.pgMany) / cpuOf(round.many64), 3),
  cpuPerVerifyHot: rounded(cpuOf(round.pgHot) / cpuOf(round.hot64), 3),
})

const goals = {
  many64: '>= 1.2',
  many256: '>= 1.5',
  hot64: '>= 4',
  pgCpuRatio: '<= 0.4',
  p99Ratio: '<= 0.8',
  cpuUsPerVerify: '<= 1350',
}

const runsTable = (rounds: readonly Round[]): Table => ({
  title: 'Every run:',
  head: ['Round', 'Run', ...runColumns, 'Load'],
  rows: rounds.flatMap((round, index) =>
    sides.map((side) => [index + 1, side, ...runCells(round[side]), round.load]),
  ),
})

const connectionsDrawn = [1, 8, 32, 64, 128, 256] as const

/** Throughput against connections, each point one run. pgbench has a process for each connection: it stops at 128. */
const drawChart = async (fixture: VerifyFixture, seconds: number): Promise<string> => {
  const lines = [
    { name: 'verify, many agents', crowd: 'many', side: 'measureHttp' },
    { name: 'verify, one agent', crowd: 'hot', side: 'measureHttp' },
    { name: 'pgbench, many agents', crowd: 'many', side: 'measurePgbench' },
    { name: 'pgbench, one agent', crowd: 'hot', side: 'measurePgbench' },
  ] as const
  const drawn: { name: string; points: (readonly [number, number])[] }[] = []
  for (const { name, crowd, side } of lines) {
    step(`drawing: ${name}`)
    const points: (readonly [number, number])[] = []
    for (const connections of connectionsDrawn)
      points.push([
        connections,
        (await fixture[side]({ crowd, connections, seconds, networks: 'reserved' })).rate,
      ])
    drawn.push({ name, points })
  }
  return drawLineChart({
    title: 'Verifies per second against connections',
    xName: 'connections',
    yName: 'verifies per second',
    lines: drawn,
  })
}

/** Verify over HTTP beside pgbench of the same SQL function, in turns. */
export const verify = programOf({
  command: 'bench -- verify',
  title: 'Verify against pgbench',
  about: `\`POST /api/agents/verify\` over HTTP (key check, look-up, ES256 in the signer's process, journal, fsynced commit) beside pgbench, which calls the same SQL function once for each transaction with values of the same length. Budgets of roots are on, and each session holds the places that scoring reserved. The load generator runs on the same machine. ${agentCount} agents; "hot" is one agent. Runs are interleaved. No worker runs, autovacuum is off, \`LOG_LEVEL=warn\`. Sessions, their accounts and a checkpoint are made before each run.

\`load\` is the machine's load average before the round. Where others took part of the machine, rates say little, for pgbench's 64 processes get a larger share than our four. CPU for each verify is the steadier figure: \`cpuUsPerVerify\` counts PostgreSQL, api and signer; \`cpuPerVerify\` is pgbench's PostgreSQL time over all our time, many agents; \`cpuPerVerifyHot\` the same for one agent. Bytes on disk are with indexes and dead rows.`,
  options: { rounds: 5, seconds: 5 },
  smoke: { rounds: 1, seconds: 1 },
  minutes: ({ rounds, seconds }) => 10 + rounds * (2 + seconds / 5),
  missing: missingPgbench,
  run: ({ rounds, seconds, report }) =>
    closingAfter(async (defer) => {
      const fixture = await openVerifyFixture()
      defer(fixture.close)
      for (const side of ['many64', 'hot64'] as const) await measure(fixture, side, 2)
      const runs = Object.fromEntries(
        sides.map((side) => [
          side,
          (round: number) => {
            step(`round ${round + 1}: ${side}`)
            return measure(fixture, side, seconds)
          },
        ]),
      ) as Record<Side, (round: number) => Promise<RunFigures>>
      const measured = await inTurns(rounds, runs)
      const ratios = measured.map(ratiosOf)
      const bytes = rounded(await fixture.bytesPerVerify(), 0)
      return {
        figures: { ...mediansOf(ratios), rounds: ratios },
        tables: [
          runsTable(measured),
          tableOfRounds(ratios, { title: 'Ours over pgbench:', goals }),
          tableOfFigures({ 'bytes on disk for each verify': bytes }),
        ],
        ...(report ? { charts: { verify: await drawChart(fixture, seconds) } } : {}),
        holds: 'every call was answered with a credential that is stored',
      }
    }),
})
