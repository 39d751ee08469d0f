// Brings about faults of a Patroni cluster under load, and checks that no acknowledged credential is lost or double.
// npm run battery -- failover [--faults node-kill,freeze --runs 10 --clients 8 --seed 1 --etcd-api etcd --json --report --keep]
// It starts what deploy/ha describes on loopback. It needs Debian 12, and root to install packages and to run as postgres.
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { tableOf } from '../../ci/pages/markdown.ts'
import { today, writeReport } from '../../report.ts'
import { runFailover, type FailoverRun } from './battery.ts'
import { chooseFaults, type FailoverFault } from './faults.ts'
import { drawTimeline } from './timeline.ts'
import { installPrograms, readVersions } from './patroni-cluster.ts'

const { values } = parseArgs({
  options: {
    faults: { type: 'string', default: '' },
    runs: { type: 'string', default: '1' },
    clients: { type: 'string', default: '8' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    // etcd3 is for a Patroni that is newer than Debian 12's, with which it loses data.
    'etcd-api': { type: 'string', default: 'etcd' },
    json: { type: 'boolean', default: false },
    report: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
  },
})
const etcdApi = values['etcd-api']
if (etcdApi !== 'etcd' && etcdApi !== 'etcd3') throw new Error('--etcd-api is etcd (the v2 API) or etcd3')
const names = values.faults.split(',').filter((name) => name !== '')
const chosen = chooseFaults(names)
const command = `npm run battery -- failover --runs ${values.runs} --clients ${values.clients} --seed ${values.seed}${names.length === 0 ? '' : ` --faults ${values.faults}`}${etcdApi === 'etcd' ? '' : ` --etcd-api ${etcdApi}`}`

const seconds = (ms: number): string => (ms / 1_000).toFixed(1)
const results: FailoverRun[] = []
const startedAt = performance.now()

const runsOf = (fault: FailoverFault): FailoverRun[] =>
  results.filter((result) => result.fault.name === fault.name)
const sumRow = (fault: FailoverFault): string[] => {
  const figures = runsOf(fault).flatMap((run) => run.figures ?? [])
  const sum = (pick: (each: (typeof figures)[number]) => number) =>
    figures.reduce((total, each) => total + pick(each), 0).toLocaleString('en')
  const gaps = figures.map(({ gapMs }) => gapMs).toSorted((a, b) => a - b)
  return [
    fault.title,
    String(figures.length),
    sum(({ succeeded }) => succeeded),
    sum(({ lost }) => lost),
    sum(({ doubled }) => doubled),
    sum(({ status503 }) => status503),
    sum(({ otherRefusals }) => otherRefusals),
    sum(({ forbidden }) => forbidden),
    `${seconds(gaps[Math.floor(gaps.length / 2)] ?? NaN)} / ${seconds(gaps.at(-1) ?? NaN)}`,
    seconds(fault.gapMsMax),
    seconds(Math.max(...figures.map(({ longestCallMs }) => longestCallMs))),
  ]
}
const runRow = ({ fault, run, proof, figures, machineLoad, reasons }: FailoverRun): string[] => [
  fault.name,
  String(run),
  proof,
  figures?.acknowledged.toLocaleString('en') ?? '',
  figures?.status503.toLocaleString('en') ?? '',
  figures ? seconds(figures.gapMs) : '',
  machineLoad.toFixed(1),
  reasons.length === 0 ? 'holds' : reasons.join('; '),
]

/** Written after each fault: who ends the battery early has a report of what was run. */
const writeReports = (): void => {
  const done = chosen.filter((fault) => runsOf(fault).length > 0)
  const broken = results.filter(({ reasons }) => reasons.length > 0)
  for (const fault of done)
    writeReport(`failover-${fault.name}.svg`, drawTimeline(fault.title, runsOf(fault)))
  const loads = results.map(({ machineLoad }) => machineLoad)
  writeReport(
    'failover.md',
    `# Verify while a Patroni cluster fails over, ${today()}

\`${command}\`, ${cpus().length} cores, ${Math.round((performance.now() - startedAt) / 60_000)} minutes. ${readVersions()}. The load of the machine was ${Math.min(...loads).toFixed(1)} to ${Math.max(...loads).toFixed(1)}, which includes whatever else ran on it.

Three database machines (PostgreSQL, Patroni, etcd), HAProxy, two api processes, a worker and a signer, all on one machine: each database machine has a loopback address, and the files are those that \`deploy/ha/fill-in.sh\` writes. ${values.clients} clients call verify through HAProxy; 15 % of the calls are sent twice at once. A fault begins at a random moment. The data is in memory-backed storage where there is room: a kill is not a loss of power.

${tableOf(['Fault', 'Runs', '200 since the fault', 'Lost', 'Double', '503', '4xx', 'Other answers', 'No 200 for, median / longest, s', 'Bound, s', 'Longest call, s'], done.map(sumRow))}

"Lost" is acknowledged with 200 and not stored as it was. "Double" is a session with two credentials, a debit without a credential, or more debits than credentials. "4xx" are 402 answers of an agent that has fewer credits than sessions. "Other answers" are all except 200, 202, 4xx and 503, and calls without an answer. Nothing is restarted by hand: in \`node-kill\` Patroni of the killed machine starts again after 20 s, as a machine does that boots; after each run the cluster must have a leader and two replicas again, and every process of the service must be the one that was started first. Public keys are asked for four times a second, and no such request may fail. After the last run of a fault all webhooks must be delivered.

${broken.length === 0 ? `Every bound held in all ${results.length} runs.` : `Bounds were broken in ${broken.length} of ${results.length} runs.`}

${done.map((fault) => `![${fault.title}](${today()}-failover-${fault.name}.svg)`).join('\n\n')}

## Every run

${tableOf(['Fault', 'Run', 'Seen by', 'Acknowledged so far', '503', 'No 200 for, s', 'Load', 'Result'], results.map(runRow))}
`,
  )
}

const show = (result: FailoverRun): void => {
  const { fault, run, proof, figures, machineLoad, reasons } = result
  console.log(
    `${reasons.length === 0 ? '✓' : '✗'} ${fault.name} ${run}: ${proof || 'not seen'}, load ${machineLoad.toFixed(1)}`,
  )
  if (figures)
    console.log(
      `    ${Object.entries(figures)
        .map(([what, value]) => `${what} ${Math.round(value).toLocaleString('en')}`)
        .join(', ')}`,
    )
  for (const reason of reasons) console.log(`    ✗ ${reason}`)
  results.push(result)
  if (values.report && run === Number(values.runs)) writeReports()
}

installPrograms()
await runFailover(
  {
    faults: names,
    runs: Number(values.runs),
    clients: Number(values.clients),
    seed: Number(values.seed),
    etcdApi,
    keep: values.keep,
  },
  show,
)
const broken = results.filter(({ reasons }) => reasons.length > 0)
console.log(
  broken.length === 0
    ? `✓ every bound holds in ${results.length} runs`
    : `✗ bounds broken in ${broken.length} of ${results.length} runs`,
)
if (values.json) console.log(JSON.stringify(results.map((result) => ({ ...result, record: undefined }))))
if (broken.length > 0) process.exitCode = 1
