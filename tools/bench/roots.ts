import { closingAfter } from '../driver/closing.ts'
import { programOf, step } from '../driver/program.ts'
import { tableOfRounds } from '../driver/report.ts'
import { inTurns, mediansOf, rounded, type Round } from '../driver/rounds.ts'
import {
  cpuOf,
  openVerifyFixture,
  runCells,
  runColumns,
  type RunFigures,
  type VerifyFixture,
} from './verify-fixture.ts'
import { unlimitedBudgets } from './verify-seed.ts'

const common = { crowd: 'many', connections: 64, warmUp: 2 } as const
const sides = { reserved: 'reserved', direct: 'many', hot: 'one' } as const
type Side = keyof typeof sides
const names = Object.keys(sides) as Side[]
type Pair = { readonly without: RunFigures; readonly run: RunFigures }

const measureSide = async (fixture: VerifyFixture, side: Side, seconds: number): Promise<Pair> => {
  const [without, run] = await fixture.measurePair([
    { ...common, seconds, api: 0, networks: 'none' },
    { ...common, seconds, api: 1, networks: sides[side] },
  ])
  return { without, run }
}

const runRow = (index: number, name: string, run: RunFigures, { without }: Pair) => [
  index + 1,
  name,
  ...runCells(run),
  ...[run.rate / without.rate, cpuOf(without) / cpuOf(run)].map((ratio) => rounded(ratio, 2)),
]

const ratiosOf = (round: Round<Side, Pair>): Record<string, number> =>
  Object.fromEntries(
    names.flatMap((side) => {
      const { without, run } = round[side]
      return [
        [`${side}Rate`, rounded(run.rate / without.rate, 3)],
        [`${side}Cpu`, rounded(cpuOf(without) / cpuOf(run), 3)],
      ]
    }),
  )

/** The mint with budgets of roots beside the mint without, in turns. */
export const roots = programOf({
  command: 'bench -- roots',
  title: 'Mint with and without roots',
  about:
    '`POST /api/agents/verify` over HTTP at 64 connections, 100 agents. `without`: `ROOT_BUDGETS=off`. `reserved`: 10,000 networks, each session holds the places that scoring reserved, as in daily use. `direct`: 10,000 networks without reservations, so the mint counts. `hot`: all sessions on one network, so every mint waits for the same rows. The load generator runs on the same machine. After 2 s of warm-up each run is in slices of a second that alternate with those of a run without roots. Goal: `rate / without` of at least 0.9 for `reserved`. On a busy machine the ratio of CPU is the steadier figure.',
  options: { rounds: 5, seconds: 5 },
  smoke: { rounds: 1, seconds: 1 },
  minutes: ({ rounds, seconds }) => 10 + rounds * (3 + seconds / 5),
  run: ({ rounds, seconds }) =>
    closingAfter(async (defer) => {
      const fixture = await openVerifyFixture({
        statistics: 'present',
        others: 0,
        apis: [{}, unlimitedBudgets],
      })
      defer(fixture.close)
      const measured = await inTurns<Side, Pair>(rounds, {
        reserved: (round) => {
          step(`round ${round + 1}`)
          return measureSide(fixture, 'reserved', seconds)
        },
        direct: () => measureSide(fixture, 'direct', seconds),
        hot: () => measureSide(fixture, 'hot', seconds),
      })
      const ratios = measured.map(ratiosOf)
      return {
        figures: mediansOf(ratios),
        tables: [
          {
            title: 'Every run:',
            head: ['Round', 'Run', ...runColumns, 'rate / without', 'CPU without / CPU', 'Load'],
            rows: measured.flatMap((round, index) =>
              names.flatMap((side) => [
                [...runRow(index, 'without', round[side].without, round[side]), round.load],
                [...runRow(index, side, round[side].run, round[side]), round.load],
              ]),
            ),
          },
          tableOfRounds(ratios),
        ],
        holds: 'every call was answered with a credential that is stored',
      }
    }),
})
