// Kills processes and whole application machines under load, and checks that no acknowledged credential is lost or double.
// npm run battery -- machines [--kills 50 --clients 8 --seed 1 --json --report --keep]
// Each machine is a network namespace of this one. It needs root, and on Debian it installs iproute2 and haproxy.
import { cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { tableOf } from '../../ci/pages/markdown.ts'
import { figuresOf, today, writeReport } from '../../report.ts'
import { hasNoFaults, runMachines, type MachinesFindings, type MachinesRecord } from './battery.ts'
import type { Kill } from './judgement.ts'
import { installPrograms } from './network.ts'
import { drawTimeline } from './timeline.ts'

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '50' },
    clients: { type: 'string', default: '8' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    json: { type: 'boolean', default: false },
    report: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
  },
})
const title = 'Verify while processes and machines are killed'
const seconds = (ms: number): string => (ms / 1_000).toFixed(1)
const partNames: Readonly<Record<Kill['part'], string>> = {
  api: 'api',
  signer: 'signer',
  worker: 'worker',
  machine: 'whole machine',
}

const medianAndLongest = (ms: readonly number[]): string => {
  const sorted = ms.toSorted((a, b) => a - b)
  return sorted.length === 0
    ? 'none'
    : `${seconds(sorted[Math.floor(sorted.length / 2)] ?? NaN)} / ${seconds(sorted.at(-1) ?? NaN)}`
}

const rowOf = (part: Kill['part'], { kills }: MachinesRecord): string[] => {
  const own = kills.filter((kill) => kill.part === part)
  return [
    partNames[part],
    String(own.length),
    medianAndLongest(own.map(({ gapMs }) => gapMs)),
    medianAndLongest(own.map(({ killedAt, backAt }) => backAt - killedAt)),
  ]
}

const killTable = (record: MachinesRecord): string =>
  tableOf(
    [
      'Killed',
      'Times',
      'No 200 from a running api, median / longest, s',
      'Until it worked again, median / longest, s',
    ],
    (['api', 'signer', 'worker', 'machine'] as const).map((part) => rowOf(part, record)),
  )

const revocationTable = ({ revocations }: MachinesFindings): string =>
  tableOf(
    [
      'Key of',
      'Revoked on',
      'Signatures in the 10 s before',
      'After',
      'Last one after, ms',
      'Unpublished after, ms',
    ],
    revocations.map((each) => [
      each.owner,
      each.revokedOn,
      String(each.before),
      String(each.after),
      String(each.lastSignatureMs),
      String(each.unpublishedMs),
    ]),
  )

const reportOf = (findings: MachinesFindings, record: MachinesRecord, load: number): string => {
  const { statuses, signedBy, revocations: _revocations, faults, seed, ...numbers } = findings
  return `# ${title}, ${today()}

\`npm run battery -- machines --kills ${values.kills} --clients ${values.clients} --seed ${seed}\`, ${cpus().length} cores, load ${load.toFixed(1)}, which includes whatever else ran on them.

Two application machines, each a network namespace with HAProxy, an api, a worker and a signer with a key folder of its own; PostgreSQL, the clients and a receiver of webhooks are outside. An api prefers the signer of its machine and connects to the other one by TLS 1.3. The admission key is on neither. ${values.clients} clients call verify on both machines in turn; 20 % of the calls are sent twice at once, to both. A kill is a SIGKILL. A whole machine loses its network first, then all processes, and boots 3 to 8 seconds later. One kernel, one disk and one clock: a loss of power is not part of this.

${figuresOf(numbers)}

Signed: ${Object.entries(signedBy)
    .map(([name, count]) => `${name} ${count.toLocaleString('en')}`)
    .join(', ')}. Answers: ${Object.entries(statuses)
    .map(([status, count]) => `${count.toLocaleString('en')} × ${status === '0' ? 'none' : status}`)
    .join(
      ', ',
    )}. "neverStored" are signatures that nobody got: of two calls for one session at once only one is stored, and a killed api stores nothing.

${killTable(record)}

${revocationTable(findings)}

${faults.length === 0 ? 'No fault: every acknowledged credential is stored, paid once and journaled, a machine whose api was running gave no answer other than 200, 4xx and 503 `overloaded`, and no revoked key signed after 5 seconds.' : faults.map((fault) => `- ${fault}`).join('\n')}

![${title}](${today()}-machines.svg)
`
}

installPrograms()
let done = 0
const { findings, record } = await runMachines(
  {
    kills: Number(values.kills),
    clients: Number(values.clients),
    seed: Number(values.seed),
    keep: values.keep,
  },
  ({ machine, part, killedAt, backAt }) => {
    done += 1
    console.log(`${done}: ${part} of ${machine}, works again after ${seconds(backAt - killedAt)} s`)
  },
)
const { statuses, signedBy, revocations, faults, ...numbers } = findings
console.table(numbers)
console.log({ statuses, signedBy, revocations })
console.log(killTable(record))
for (const fault of faults.slice(0, 20)) console.log(`✗ ${fault}`)
console.log(hasNoFaults(findings) ? '✓ nothing lost, nothing double' : `✗ ${faults.length} faults`)
if (values.report) {
  writeReport('machines.svg', drawTimeline(title, record))
  writeReport('machines.md', reportOf(findings, record, loadavg()[1] ?? NaN))
}
if (values.json) console.log(JSON.stringify(findings))
if (!hasNoFaults(findings)) process.exitCode = 1
