// One client without a key does its worst on each public row, on 8 connections, while an agent verifies and strangers
// register, take tasks and buy. The control is the same client at the same rate at a server that only answers 204.
// npm run battery -- hostile [--seconds 6 --rounds 3 --verifies 25 --only MCP;register --set NAME=value --smoke --json --report]
import { cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { tableOf } from '../ci/pages/markdown.ts'
import { today, writeReport } from '../report.ts'
import { runHostile, type RowFigures } from './hostile/battery.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string' },
    rounds: { type: 'string' },
    verifies: { type: 'string' },
    only: { type: 'string' },
    set: { type: 'string', multiple: true, default: [] },
    smoke: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    report: { type: 'boolean', default: false },
  },
})
/** The largest p99 of verify beside a hostile client, as a multiple of that beside the control. */
const ratioMax = 2

const namesOf = (list: string): string[] => list.split(';').filter((name) => name !== '')
const only = namesOf(values.only ?? (values.smoke ? 'MCP, 20 register_agent;buy, no' : ''))

const statusesOf = ({ rounds }: RowFigures): string => {
  const all = rounds.flatMap(({ beside }) => Object.entries(beside.hostile.statuses))
  const sums = Map.groupBy(all, ([status]) => status)
  return [...sums]
    .map(([status, counts]) => `${status}: ${counts.reduce((sum, [, count]) => sum + count, 0)}`)
    .join(', ')
}
const roundsOf = ({ rounds }: RowFigures): string =>
  rounds.map(({ beside, control }) => `${beside.p99Ms}/${control.p99Ms}`).join(' ')
const rateOf = ({ rounds }: RowFigures): number =>
  Math.round(rounds.reduce((sum, { beside }) => sum + beside.hostile.perSecond, 0) / rounds.length)

/** What the hostile client took of the service: CPU in milliseconds a second, beyond that of the control. */
const cpuOf = ({ rounds }: RowFigures): number =>
  Math.round(
    rounds.reduce((sum, { beside, control }) => sum + beside.cpuMs - control.cpuMs, 0) / rounds.length,
  )

const rows = await runHostile(
  {
    seconds: Number(values.seconds ?? (values.smoke ? 2 : 6)),
    rounds: Number(values.rounds ?? (values.smoke ? 1 : 3)),
    verifiesPerSecond: Number(values.verifies ?? (values.smoke ? 5 : 25)),
    only,
    settings: Object.fromEntries(values.set.map((pair) => pair.split('=', 2))) as Record<string, string>,
  },
  (figures) =>
    console.log(
      `${figures.row.padEnd(40)} ${String(figures.ratio).padStart(6)} (${roundsOf(figures)} ms), ${rateOf(figures)}/s, ${cpuOf(figures)} ms CPU/s, ${statusesOf(figures)}; paid 5xx ${figures.paid5xx}, strangers refused ${figures.refusedStrangers}`,
    ),
)
const worst = rows.toSorted((a, b) => b.ratio - a.ratio)[0]
const faults = rows.flatMap(({ row, ratio, paid5xx, refusedStrangers }) => [
  ...(paid5xx > 0 ? [`${row}: ${paid5xx} calls with a key got a 5xx`] : []),
  ...(refusedStrangers > 0 ? [`${row}: ${refusedStrangers} calls of strangers were refused`] : []),
  ...(values.smoke || ratio < ratioMax ? [] : [`${row}: p99 of verify is ${ratio} times the control's`]),
])
console.log(
  `load of the machine: ${loadavg()
    .map((load) => load.toFixed(1))
    .join(', ')}`,
)
for (const fault of faults) console.log(`✗ ${fault}`)
if (faults.length === 0) console.log('✓ no row closes the service to others')
if (values.report)
  writeReport(
    'hostile.md',
    `# Verify beside a hostile client, ${today()}

\`npm run battery -- hostile\`, ${cpus().length} cores, load ${loadavg()[1]?.toFixed(1)}.

${tableOf(
  [
    'Row',
    'p99 beside it, ms',
    'p99 of the control, ms',
    'Ratio',
    'Rounds (beside/control, ms)',
    'Calls a second',
    'CPU taken, ms a second',
    'Answers',
    'Calls with a key that got a 5xx',
    'Strangers refused',
  ],
  rows.map((row) => [
    row.row,
    String(row.besideP99Ms),
    String(row.controlP99Ms),
    String(row.ratio),
    roundsOf(row),
    String(rateOf(row)),
    String(cpuOf(row)),
    statusesOf(row),
    String(row.paid5xx),
    String(row.refusedStrangers),
  ]),
)}
`,
  )
if (values.json)
  console.log(
    JSON.stringify({
      rows: rows.map(({ row, controlP99Ms, besideP99Ms, paid5xx }) => ({
        row,
        controlP99Ms,
        besideP99Ms,
        paid5xx,
      })),
      worst: worst && { row: worst.row, ratio: worst.ratio },
    }),
  )
if (faults.length > 0) process.exitCode = 1
