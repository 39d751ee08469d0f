// One client without a key does its worst on each public row, on 8 connections, while an agent verifies and strangers
// register, take tasks and buy. The control is the same client at the same rate at a server that only answers 204.
import { runProgram } from '../driver/program.ts'
import { tableOfRecords } from '../driver/report.ts'
import { sum } from '../driver/rounds.ts'
import { runHostile, type RowFigures } from './hostile/battery.ts'

/** The largest p99 of verify beside a hostile client, as a multiple of that beside the control. */
const ratioMax = 2

const statusesOf = ({ rounds }: RowFigures): string => {
  const all = rounds.flatMap(({ beside }) => Object.entries(beside.hostile.statuses))
  return [...Map.groupBy(all, ([status]) => status)]
    .map(([status, counts]) => `${status}: ${sum(counts.map(([, count]) => count))}`)
    .join(', ')
}
const meanOf = ({ rounds }: RowFigures, read: (round: RowFigures['rounds'][number]) => number): number =>
  Math.round(sum(rounds.map(read)) / rounds.length)

const shownOf = (row: RowFigures) => ({
  Row: row.row,
  'p99 beside it, ms': row.besideP99Ms,
  'p99 of the control, ms': row.controlP99Ms,
  Ratio: row.ratio,
  'Rounds (beside/control, ms)': row.rounds
    .map(({ beside, control }) => `${beside.p99Ms}/${control.p99Ms}`)
    .join(' '),
  'Calls a second': meanOf(row, ({ beside }) => beside.hostile.perSecond),
  'CPU taken, ms a second': meanOf(row, ({ beside, control }) => beside.cpuMs - control.cpuMs),
  Answers: statusesOf(row),
  'Calls with a key that got a 5xx': row.paid5xx,
  'Strangers refused': row.refusedStrangers,
})

await runProgram({
  command: 'battery -- hostile',
  title: 'Verify beside a hostile client',
  about: `The hostile client has 8 connections, and the control is the same client at the same rate at a server that only answers 204. No call with a key gets a 5xx, no stranger is refused, and the p99 of verify beside the hostile client is below ${ratioMax} times that beside the control. \`--set NAME=value\` changes a setting of the api.`,
  options: { seconds: 6, rounds: 3, verifies: 25, only: [], set: [] },
  smoke: { seconds: 2, rounds: 1, verifies: 5, only: ['MCP, 20 register_agent', 'buy, no'] },
  minutes: ({ seconds, rounds }) => 15 + seconds * rounds * 2,
  run: async ({ set, smoke, ...options }) => {
    const settings = Object.fromEntries(set.map((pair) => pair.split('=', 2))) as Record<string, string>
    const rows = await runHostile({ ...options, settings })
    const worst = rows.toSorted((a, b) => b.ratio - a.ratio)[0]
    return {
      figures: {
        rows: rows.map(({ row, controlP99Ms, besideP99Ms, paid5xx }) => ({
          row,
          controlP99Ms,
          besideP99Ms,
          paid5xx,
        })),
        worst: worst && { row: worst.row, ratio: worst.ratio },
      },
      tables: [tableOfRecords(rows.map(shownOf))],
      faults: rows.flatMap(({ row, ratio, paid5xx, refusedStrangers }) => [
        ...(paid5xx > 0 ? [`${row}: ${paid5xx} calls with a key got a 5xx`] : []),
        ...(refusedStrangers > 0 ? [`${row}: ${refusedStrangers} calls of strangers were refused`] : []),
        ...(smoke || ratio < ratioMax ? [] : [`${row}: p99 of verify is ${ratio} times the control's`]),
      ]),
      holds: 'no row closes the service to others',
    }
  },
})
