// Brings about faults of network, database, disks, clocks and processes under load, and checks what clients saw.
// npm run battery -- faults [--only stranded,readonly --seconds 60 --clients 12 --stops 50 --rounds 10 --seed 1 --json --report --keep]
import { cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { tableOf } from '../ci/pages/markdown.ts'
import { today, writeReport } from '../report.ts'
import { runFaults, type FaultResult } from './faults/battery.ts'
import { bounds } from './faults/judgement.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    seconds: { type: 'string' },
    clients: { type: 'string', default: '12' },
    stops: { type: 'string', default: '50' },
    rounds: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    json: { type: 'boolean', default: false },
    report: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
  },
})

const secondsOf = (ms: number): string => (Number.isFinite(ms) ? (ms / 1_000).toFixed(1) : 'never')
const columns = [
  'Fault',
  'Calls during it',
  '200',
  '503',
  '500',
  'Other 5xx',
  'Unanswered',
  'Refused',
  'Longest call, s',
  '/readyz untrue, s',
  'Works again after, s',
  'Lost',
  'Double',
  'Undelivered',
  'By hand',
]
const rowOf = ({ title, skipped, figures }: FaultResult): string[] => {
  if (!figures) return [title, skipped ?? 'no figures', ...columns.slice(2).map(() => '')]
  const { longestCallMs, readinessMs, recoveryMs, ...counts } = figures
  return [
    title,
    ...[counts.calls, counts.succeeded, counts.status503, counts.status500, counts.otherErrors].map(String),
    ...[counts.unanswered, counts.refused].map(String),
    ...[longestCallMs, readinessMs, recoveryMs].map(secondsOf),
    ...[counts.lost, counts.doubled, counts.undelivered, counts.restartedByHand].map(String),
  ]
}

const show = ({ name, skipped, proof, figures, reasons }: FaultResult): void => {
  if (skipped !== undefined) return console.log(`- ${name}: skipped, ${skipped}`)
  console.log(`${reasons.length === 0 ? '✓' : '✗'} ${name}: ${proof ?? 'not seen'}`)
  if (figures)
    console.log(
      `    ${Object.entries(figures)
        .map(([what, value]) => `${what} ${Math.round(value).toLocaleString('en')}`)
        .join(', ')}`,
    )
  for (const reason of reasons) console.log(`    ✗ ${reason}`)
}

const results = await runFaults(
  {
    only: values.only.split(',').filter((name) => name !== ''),
    seconds: values.seconds === undefined ? undefined : Number(values.seconds),
    clients: Number(values.clients),
    seed: Number(values.seed),
    stops: Number(values.stops),
    rounds: Number(values.rounds),
    claimedKeySeconds: 75,
    sessions: 60_000,
    slack: 1,
    keep: values.keep,
  },
  show,
)
const broken = results.filter(({ reasons }) => reasons.length > 0)
const skipped = results.filter((result) => result.skipped !== undefined)
console.log(
  broken.length === 0
    ? `✓ every bound holds; ${results.length - skipped.length} faults, ${skipped.length} skipped`
    : `✗ bounds broken by ${broken.map(({ name }) => name).join(', ')}`,
)
if (values.json) console.log(JSON.stringify(results))
if (values.report)
  writeReport(
    'faults.md',
    `# Verify under faults, ${today()}

\`npm run battery -- faults --clients ${values.clients} --stops ${values.stops} --rounds ${values.rounds} --seed ${values.seed}${values.only === '' ? '' : ` --only ${values.only}`}${values.seconds === undefined ? '' : ` --seconds ${values.seconds}`}\`, ${cpus().length} cores, load ${loadavg()[1]?.toFixed(1)}. ${values.clients} clients call verify; 15 % of the calls are sent twice at once with one \`Idempotency-Key\`.

${tableOf(columns, results.map(rowOf))}

The bounds: no 500, no other 5xx than 503, no call above ${secondsOf(bounds.callMs)} s, \`/readyz\` untrue for at most ${secondsOf(bounds.readinessMs)} s, verify works again at most ${secondsOf(bounds.recoveryMs)} s after the end of the fault, nothing lost, double, undelivered or restarted by hand. A planned stop fails no call: also no 503. A call fails if a server accepted it and gave no complete answer, or a 5xx. A call that met a closed listener (\`Refused\`) was repeated; that is allowed only when the one server of a machine is stopped.

\`/readyz\` is untrue while it answers 200 and no verify succeeds, while it answers otherwise and verify succeeds, and while it does not answer within ${secondsOf(bounds.probeMs)} s.

How each fault was seen:

${results.map(({ name, proof, skipped: why }) => `- ${name}: ${why === undefined ? (proof ?? 'not seen') : `skipped, ${why}`}`).join('\n')}

${broken.length === 0 ? 'Every bound held.' : `Broken:\n\n${broken.flatMap(({ name, reasons }) => reasons.map((reason) => `- ${name}: ${reason}`)).join('\n')}`}
`,
  )
if (broken.length > 0) process.exitCode = 1
