import { closingAfter } from '../driver/closing.ts'
import { programOf, step } from '../driver/program.ts'
import { inTurns, median, rounded } from '../driver/rounds.ts'
import { cpuOf, openVerifyFixture, type RunFigures, type VerifyFixture } from './verify-fixture.ts'

const connections = 64
const figures = {
  rate: ({ rate }: RunFigures) => rate,
  p99: ({ p99 }: RunFigures) => p99,
  pgCpu: ({ pgCpu }: RunFigures) => pgCpu,
  cpu: cpuOf,
}
type Figure = keyof typeof figures

type Side = {
  readonly others: number
  readonly statistics: 'absent' | 'present'
  readonly runs: readonly RunFigures[]
}

const medianOf = ({ runs }: Side, figure: Figure): number => rounded(median(runs.map(figures[figure])), 0)

/** Absent divided by present, in percent more. Each pair of one round is compared, so that the load of others matters less. */
const differencesOf = (sides: readonly Side[]) =>
  [...new Set(sides.map(({ others }) => others))].map((others) => {
    const runsOf = (statistics: Side['statistics']) =>
      sides.find((side) => side.others === others && side.statistics === statistics)?.runs ?? []
    const present = runsOf('present')
    const compare = (figure: Figure) => {
      const read = figures[figure]
      return 100 * (median(runsOf('absent').map((run, n) => read(run) / read(present[n] ?? run))) - 1)
    }
    return { others, rate: compare('rate'), pgCpu: compare('pgCpu'), cpu: compare('cpu') }
  })

/** Verify with 64 connections, on databases that were never analysed and on analysed ones, in turns. */
export const verifyStatistics = programOf({
  command: 'bench -- verify-statistics',
  title: 'Verify with and without statistics',
  about: `\`POST /api/agents/verify\` over HTTP, 100 agents, ${connections} connections. Each line is a PostgreSQL of its own with its own api and signer. "absent": no table was ever analysed, as after a restore or an upgrade. "present": all tables are analysed before each run. The other agents have keys, accounts and history. Runs are interleaved; the figures are medians. Absent against present is the median of the rounds' pairs; the goal is a difference of at most 10 %. On a busy machine CPU for each verify is the steadier figure.`,
  options: { rounds: 5, seconds: 5, others: 100_000 },
  smoke: { rounds: 1, seconds: 1, others: 0 },
  minutes: ({ rounds, seconds }) => 30 + rounds * (2 + seconds / 5),
  run: ({ rounds, seconds, others }) =>
    closingAfter(async (defer) => {
      const fixtures = new Map<string, Omit<Side, 'runs'> & { readonly fixture: VerifyFixture }>()
      for (const count of new Set([0, others]))
        for (const statistics of ['absent', 'present'] as const) {
          const fixture = await openVerifyFixture({ statistics, others: count, apis: [{}] })
          defer(fixture.close)
          fixtures.set(`${count} ${statistics}`, { others: count, statistics, fixture })
        }
      for (const { fixture } of fixtures.values())
        await fixture.measureHttp({ crowd: 'many', connections, seconds: 2 })
      const measured = await inTurns<string, RunFigures>(
        rounds,
        Object.fromEntries(
          [...fixtures].map(([name, { fixture }]) => [
            name,
            (round) => {
              step(`round ${round + 1}: ${name}`)
              return fixture.measureHttp({ crowd: 'many', connections, seconds })
            },
          ]),
        ),
      )
      const sides: Side[] = [...fixtures].map(([name, { others, statistics }]) => ({
        others,
        statistics,
        runs: measured.flatMap((round) => round[name] ?? []),
      }))
      const differences = differencesOf(sides)
      return {
        figures: { differences },
        tables: [
          {
            head: ['Other agents', 'Statistics', 'Verifies/s', 'p99 ms', 'PostgreSQL CPU µs', 'CPU µs'],
            rows: sides.map((side) => [
              side.others,
              side.statistics,
              ...(Object.keys(figures) as Figure[]).map((figure) => medianOf(side, figure)),
            ]),
          },
          {
            title: 'Absent against present:',
            head: ['Other agents', 'Verifies/s', 'PostgreSQL CPU', 'CPU'],
            rows: differences.map(({ others, rate, pgCpu, cpu }) => [
              others,
              ...[rate, pgCpu, cpu].map((percent) => `${percent > 0 ? '+' : ''}${percent.toFixed(1)} %`),
            ]),
          },
        ],
        holds: 'every call was answered with a credential that is stored',
      }
    }),
})
