import { cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { agentCount, openVerifyFixture, type RunFigures, type VerifyFixture } from './verify-fixture.ts'
import { drawLineChart } from './chart.ts'
import { today, writeReport } from '../report.ts'
import { median } from './median.ts'

const rounded = (value: number, digits = 3): number => Number(value.toFixed(digits))

const sides = {
  pgMany: (fixture: VerifyFixture, seconds: number) =>
    fixture.measurePgbench({ crowd: 'many', connections: 64, seconds }),
  many64: (fixture: VerifyFixture, seconds: number) =>
    fixture.measureHttp({ crowd: 'many', connections: 64, seconds, networks: 'reserved' }),
  pgHot: (fixture: VerifyFixture, seconds: number) =>
    fixture.measurePgbench({ crowd: 'hot', connections: 64, seconds }),
  hot64: (fixture: VerifyFixture, seconds: number) =>
    fixture.measureHttp({ crowd: 'hot', connections: 64, seconds, networks: 'reserved' }),
  many256: (fixture: VerifyFixture, seconds: number) =>
    fixture.measureHttp({ crowd: 'many', connections: 256, seconds, networks: 'reserved' }),
} as const
type Side = keyof typeof sides
const names = Object.keys(sides) as Side[]
type Round = Record<Side, RunFigures> & { readonly load: number }

const cpuOf = ({ pgCpu, apiCpu, signerCpu }: RunFigures): number => pgCpu + apiCpu + signerCpu
const cell = (value: number): string => (value < 10 ? value.toFixed(1) : value.toFixed(0))

/** The ratios of one round. CPU is everything that either side used for one verify, client left out. */
const ratiosOf = (round: Round) => {
  return {
    many64: rounded(round.many64.rate / round.pgMany.rate),
    many256: rounded(round.many256.rate / round.pgMany.rate),
    hot64: rounded(round.hot64.rate / round.pgHot.rate),
    pgCpuRatio: rounded(round.many64.pgCpu / round.pgMany.pgCpu),
    p99Ratio: rounded(round.many64.p99 / round.pgMany.p99),
    cpuUsPerVerify: rounded(cpuOf(round.many64), 0),
    cpuPerVerify: rounded(cpuOf(round.pgMany) / cpuOf(round.many64)),
    cpuPerVerifyHot: rounded(cpuOf(round.pgHot) / cpuOf(round.hot64)),
  }
}
type Ratios = ReturnType<typeof ratiosOf>

const goals: Readonly<
  Record<'many64' | 'many256' | 'hot64' | 'pgCpuRatio' | 'p99Ratio' | 'cpuUsPerVerify', string>
> = {
  many64: '>= 1.2',
  many256: '>= 1.5',
  hot64: '>= 4',
  pgCpuRatio: '<= 0.4',
  p99Ratio: '<= 0.8',
  cpuUsPerVerify: '<= 1350',
}

const table = (rounds: readonly Round[]): string => {
  const rows = rounds.flatMap((round, index) =>
    names.map((side) => {
      const { rate, p50, p99, pgCpu, apiCpu, signerCpu } = round[side]
      return `| ${index + 1} | ${side} | ${[rate, p50, p99, pgCpu, apiCpu, signerCpu].map(cell).join(' | ')} | ${round.load.toFixed(1)} |`
    }),
  )
  return [
    '| round | run | verifies/s | p50 ms | p99 ms | PostgreSQL CPU µs | api CPU µs | signer CPU µs | load |',
    '| --- | --- | --- | --- | --- | --- | --- | --- | --- |',
    ...rows,
  ].join('\n')
}

const ratioTable = (all: readonly Ratios[], medians: Ratios): string => {
  const keys = Object.keys(medians) as (keyof Ratios)[]
  const row = (name: string, ratios: Ratios) => `| ${name} | ${keys.map((key) => ratios[key]).join(' | ')} |`
  return [
    `| round | ${keys.join(' | ')} |`,
    `| --- |${' --- |'.repeat(keys.length)}`,
    ...all.map((ratios, index) => row(String(index + 1), ratios)),
    row('**median**', medians),
    `| goal | ${keys.map((key) => (key in goals ? goals[key as keyof typeof goals] : '')).join(' | ')} |`,
  ].join('\n')
}

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

type VerifyMeasurements = {
  readonly rounds: readonly Round[]
  readonly ratios: readonly Ratios[]
  readonly medians: Ratios
  readonly bytes: number
  readonly seconds: number
}

const report = (day: string, found: VerifyMeasurements): string => `# Verify against pgbench, ${day}

\`POST /api/agents/verify\` over HTTP (key check, look-up, ES256 in the signer's process, journal, fsynced commit) beside
pgbench, which calls the same SQL function once for each transaction with values of the same length. Budgets of roots are on,
and each session holds the places that scoring reserved. One machine:
${cpus().length} cores, ${cpus()[0]?.model ?? 'unknown'}, Node ${process.version}. The load generator runs on it too. ${agentCount} agents; "hot" is one agent.
${found.rounds.length} rounds of ${found.seconds} s for each run, interleaved. No worker runs, autovacuum is off, \`LOG_LEVEL=warn\`. Sessions, their accounts and a checkpoint are made before each run.

\`load\` is the machine's load average before the round: above ${cpus().length}, others took part of the machine. Rates then say little, for
pgbench's 64 processes get a larger share than our four. CPU for each verify is the steadier figure: \`cpuUsPerVerify\`
counts PostgreSQL, api and signer; \`cpuPerVerify\` is pgbench's
PostgreSQL time over all our time (PostgreSQL, api and signer), many agents; \`cpuPerVerifyHot\` the same for one agent.

${ratioTable(found.ratios, found.medians)}

![Verifies per second against connections](${day}-verify.svg)

Bytes on disk for each verify, indexes and dead rows included: ${found.bytes.toFixed(0)}.

## Every run

${table(found.rounds)}
`

/** Verify over HTTP beside pgbench of the same SQL function, in turns. */
export const verify = async () => {
  const { values } = parseArgs({
    args: process.argv.slice(2),
    strict: false,
    options: {
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '5' },
      report: { type: 'boolean', default: false },
    },
  })
  const [roundsWanted, seconds] = [Number(values.rounds), Number(values.seconds)]
  const fixture = await openVerifyFixture()
  try {
    for (const side of ['many64', 'hot64'] as const) await sides[side](fixture, 2)
    const rounds: Round[] = []
    for (let n = 0; n < roundsWanted; n++) {
      const load = loadavg()[0] ?? NaN
      const round: Partial<Record<Side, RunFigures>> = {}
      for (const side of names) round[side] = await sides[side](fixture, seconds)
      rounds.push({ ...(round as Record<Side, RunFigures>), load })
    }
    const ratios = rounds.map(ratiosOf)
    const medians = Object.fromEntries(
      (Object.keys(ratios[0] ?? {}) as (keyof Ratios)[]).map((key) => [
        key,
        rounded(median(ratios.map((each) => each[key]))),
      ]),
    ) as Ratios
    const bytes = await fixture.bytesPerVerify()
    console.log(
      `${table(rounds)}\n\n${ratioTable(ratios, medians)}\n\n${bytes.toFixed(0)} bytes on disk for each verify`,
    )
    if (values.report === true) {
      writeReport('verify.svg', await drawChart(fixture, seconds))
      writeReport('verify.md', report(today(), { rounds, ratios, medians, bytes, seconds }))
    }
    return { ...medians, rounds: ratios }
  } finally {
    await fixture.close()
  }
}
