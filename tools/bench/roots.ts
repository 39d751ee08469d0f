import { cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { today, writeReport } from '../report.ts'
import { openVerifyFixture, type RunFigures, type VerifyFixture } from './verify-fixture.ts'

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN

/** Budgets that no run uses up: a refusal would be measured as a mint. */
const unlimited = {
  ROOT_BUDGETS: 'on',
  ROOT_ADDRESS_PER_HOUR: '1000000',
  ROOT_ADDRESS_PER_DAY: '1000000',
  ROOT_NETWORK_PER_HOUR: '1000000',
  ROOT_NETWORK_PER_DAY: '1000000',
}

const common = { crowd: 'many', connections: 64, warmUp: 2 } as const
const sides = {
  without: (fixture: VerifyFixture, seconds: number) =>
    fixture.measureHttp({ ...common, seconds, api: 0, networks: 'none' }),
  reserved: (fixture: VerifyFixture, seconds: number) =>
    fixture.measureHttp({ ...common, seconds, api: 1, networks: 'reserved' }),
  direct: (fixture: VerifyFixture, seconds: number) =>
    fixture.measureHttp({ ...common, seconds, api: 1, networks: 'many' }),
  hot: (fixture: VerifyFixture, seconds: number) =>
    fixture.measureHttp({ ...common, seconds, api: 1, networks: 'one' }),
} as const
type Side = keyof typeof sides
const names = Object.keys(sides) as Side[]
type Round = Record<Side, RunFigures> & { readonly load: number }

const cpuOf = ({ pgCpu, apiCpu, signerCpu }: RunFigures): number => pgCpu + apiCpu + signerCpu
const cell = (value: number): string => (value < 10 ? value.toFixed(2) : value.toFixed(0))

const table = (rounds: readonly Round[]): string =>
  [
    '| round | run | verifies/s | p50 ms | p99 ms | PostgreSQL CPU µs | api CPU µs | signer CPU µs | rate / without | CPU without / CPU | load |',
    `| --- |${' --- |'.repeat(10)}`,
    ...rounds.flatMap((round, index) =>
      names.map((side) => {
        const run = round[side]
        const figures = [run.rate, run.p50, run.p99, run.pgCpu, run.apiCpu, run.signerCpu]
        const ratios = [run.rate / round.without.rate, cpuOf(round.without) / cpuOf(run)]
        return `| ${index + 1} | ${side} | ${[...figures, ...ratios].map(cell).join(' | ')} | ${round.load.toFixed(1)} |`
      }),
    ),
  ].join('\n')

const mediansOf = (rounds: readonly Round[]) =>
  Object.fromEntries(
    names.flatMap((side) => [
      [`${side}Rate`, median(rounds.map((round) => round[side].rate / round.without.rate))],
      [`${side}Cpu`, median(rounds.map((round) => cpuOf(round.without) / cpuOf(round[side])))],
    ]),
  )

const report = (
  rounds: readonly Round[],
  seconds: number,
): string => `# Mint with and without roots, ${today()}

\`POST /api/agents/verify\` over HTTP at 64 connections, 100 agents. \`without\`: \`ROOT_BUDGETS=off\`. \`reserved\`: 10,000 networks,
each session holds the places that scoring reserved, as in daily use. \`direct\`: 10,000 networks without reservations, so the mint
counts. \`hot\`: all sessions on one network, so every mint waits for the same rows. One machine: ${cpus().length} cores,
${cpus()[0]?.model ?? 'unknown'}, Node ${process.version}; the load generator runs on it too. ${rounds.length} rounds of ${seconds} s for each run after 2 s of warm-up, interleaved.
Goal: \`rate / without\` of at least 0.9 for \`reserved\`. Where \`load\` is above ${cpus().length}, the ratio of CPU is the steadier figure.

${table(rounds)}

Medians:

${Object.entries(mediansOf(rounds))
  .map(([name, value]) => `- ${name}: ${value.toFixed(3)}`)
  .join('\n')}
`

/** The mint with budgets of roots beside the mint without, in turns. */
export const roots = async () => {
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
  const fixture = await openVerifyFixture({ statistics: 'present', others: 0, apis: [{}, unlimited] })
  try {
    for (const side of ['without', 'direct'] as const) await sides[side](fixture, 2)
    const rounds: Round[] = []
    for (let n = 0; n < roundsWanted; n++) {
      const load = loadavg()[0] ?? NaN
      const round: Partial<Record<Side, RunFigures>> = {}
      for (const side of names) round[side] = await sides[side](fixture, seconds)
      rounds.push({ ...(round as Record<Side, RunFigures>), load })
    }
    console.log(table(rounds))
    if (values.report === true) writeReport('roots.md', report(rounds, seconds))
    return mediansOf(rounds)
  } finally {
    await fixture.close()
  }
}
