import { cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { today, writeReport } from '../report.ts'
import { openVerifyFixture, type RunFigures, type VerifyFixture } from './verify-fixture.ts'
import { median } from './median.ts'
import { unlimitedBudgets } from './verify-seed.ts'

const common = { crowd: 'many', connections: 64, warmUp: 2 } as const
const sides = { reserved: 'reserved', direct: 'many', hot: 'one' } as const
type Side = keyof typeof sides
const names = Object.keys(sides) as Side[]
type Pair = { readonly without: RunFigures; readonly run: RunFigures }
type Round = Record<Side, Pair> & { readonly load: number }

const measureSide = async (fixture: VerifyFixture, side: Side, seconds: number): Promise<Pair> => {
  const [without, run] = await fixture.measurePair([
    { ...common, seconds, api: 0, networks: 'none' },
    { ...common, seconds, api: 1, networks: sides[side] },
  ])
  return { without, run }
}

const cpuOf = ({ pgCpu, apiCpu, signerCpu }: RunFigures): number => pgCpu + apiCpu + signerCpu
const cell = (value: number): string => (value < 10 ? value.toFixed(2) : value.toFixed(0))

const table = (rounds: readonly Round[]): string =>
  [
    '| round | run | verifies/s | p50 ms | p99 ms | PostgreSQL CPU µs | api CPU µs | signer CPU µs | rate / without | CPU without / CPU | load |',
    `| --- |${' --- |'.repeat(10)}`,
    ...rounds.flatMap((round, index) =>
      names.flatMap((side) => {
        const { without, run } = round[side]
        const lineOf = (name: string, one: RunFigures) => {
          const figures = [one.rate, one.p50, one.p99, one.pgCpu, one.apiCpu, one.signerCpu]
          const ratios = [one.rate / without.rate, cpuOf(without) / cpuOf(one)]
          return `| ${index + 1} | ${name} | ${[...figures, ...ratios].map(cell).join(' | ')} | ${round.load.toFixed(1)} |`
        }
        return [lineOf('without', without), lineOf(side, run)]
      }),
    ),
  ].join('\n')

const mediansOf = (rounds: readonly Round[]) =>
  Object.fromEntries(
    names.flatMap((side) => [
      [`${side}Rate`, median(rounds.map((round) => round[side].run.rate / round[side].without.rate))],
      [`${side}Cpu`, median(rounds.map((round) => cpuOf(round[side].without) / cpuOf(round[side].run)))],
    ]),
  )

const report = (
  rounds: readonly Round[],
  seconds: number,
): string => `# Mint with and without roots, ${today()}

\`POST /api/agents/verify\` over HTTP at 64 connections, 100 agents. \`without\`: \`ROOT_BUDGETS=off\`. \`reserved\`: 10,000 networks,
each session holds the places that scoring reserved, as in daily use. \`direct\`: 10,000 networks without reservations, so the mint
counts. \`hot\`: all sessions on one network, so every mint waits for the same rows. One machine: ${cpus().length} cores,
${cpus()[0]?.model ?? 'unknown'}, Node ${process.version}; the load generator runs on it too. ${rounds.length} rounds of ${seconds} s for each run after 2 s of warm-up, in slices of a second that alternate with those of a run without roots.
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
  const fixture = await openVerifyFixture({ statistics: 'present', others: 0, apis: [{}, unlimitedBudgets] })
  try {
    const rounds: Round[] = []
    for (let n = 0; n < roundsWanted; n++) {
      const load = loadavg()[0] ?? NaN
      const pairs = {} as Record<Side, Pair>
      for (const side of names) pairs[side] = await measureSide(fixture, side, seconds)
      rounds.push({ ...pairs, load })
    }
    console.log(table(rounds))
    if (values.report === true) writeReport('roots.md', report(rounds, seconds))
    return mediansOf(rounds)
  } finally {
    await fixture.close()
  }
}
