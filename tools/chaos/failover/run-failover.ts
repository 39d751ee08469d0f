// Brings about faults of a Patroni cluster under load, and checks that no acknowledged credential is lost or double.
// It starts what deploy/ha describes on loopback. It needs Debian 12, and root to install packages and to run as postgres.
import { drawTimeline } from '../../driver/chart.ts'
import { anySeed } from '../../driver/options.ts'
import { runProgram } from '../../driver/program.ts'
import { tableOfRecords, type ProgramFindings } from '../../driver/report.ts'
import { median, sum } from '../../driver/rounds.ts'
import { secondsText } from '../verify-load/faults.ts'
import type { RunFigures } from './accounting.ts'
import { runFailover, type FailoverRun } from './battery.ts'
import { installPrograms, readVersions } from './patroni-cluster.ts'

const secondsAfter = (beganAt: number, ms: number): number => (ms - beganAt) / 1_000

/** A row for each run: what succeeded and failed in each second since the fault began. */
const chartOf = (title: string, runs: readonly FailoverRun[]): string =>
  drawTimeline(
    title,
    runs.flatMap(({ record, run }) => {
      if (!record) return []
      const { beganAt, endedAt, calls } = record
      const times = (isCounted: (status: number) => boolean) =>
        calls
          .filter(({ status }) => isCounted(status))
          .map((call) => secondsAfter(beganAt, call.endedAt))
          .filter((second) => second >= -5)
      return [
        {
          name: `run ${run}`,
          succeeded: times((status) => status === 200),
          failed: times((status) => status !== 200 && status !== 402),
          spans: [{ name: 'the fault', from: 0, to: secondsAfter(beganAt, endedAt) }],
        },
      ]
    }),
  )

const gaps = (of: readonly FailoverRun[]) => of.flatMap(({ figures }) => figures?.gapMs ?? [])
const longest = (of: readonly FailoverRun[]) =>
  Math.max(...of.flatMap(({ figures }) => figures?.longestCallMs ?? []))

const findingsOf = (seed: number, startedAt: number, runs: readonly FailoverRun[]): ProgramFindings => {
  const byFault = Map.groupBy(runs, ({ fault }) => fault)
  const total = (name: keyof RunFigures, of = runs) => sum(of.flatMap(({ figures }) => figures?.[name] ?? []))
  return {
    figures: {
      seed,
      seconds: Math.round((performance.now() - startedAt) / 1_000),
      acknowledged: total('succeeded'),
      lost: total('lost'),
      doubleCharged: total('doubled'),
      gapsS: gaps(runs).map((ms) => Math.round(ms) / 1_000),
      statuses: { 200: total('succeeded'), 503: total('status503') },
      runs: runs.map((run) => ({ ...run, record: undefined })),
    },
    tables: [
      tableOfRecords(
        [...byFault].map(([fault, of]) => ({
          'Injected fault': fault.title,
          Runs: of.length,
          '200 since the fault': total('succeeded', of),
          Lost: total('lost', of),
          Double: total('doubled', of),
          503: total('status503', of),
          '4xx': total('otherRefusals', of),
          'Other answers': total('forbidden', of),
          'No 200 for, median / longest, s': `${secondsText(median(gaps(of)))} / ${secondsText(Math.max(...gaps(of)))}`,
          'Bound, s': secondsText(fault.gapMsMax),
          'Longest call, s': secondsText(longest(of)),
        })),
      ),
      tableOfRecords(
        runs.map(({ fault, run, proof, figures, machineLoad, reasons }) => ({
          'Injected fault': fault.name,
          Run: run,
          'Seen by': proof || 'not seen',
          'Acknowledged so far': figures?.acknowledged,
          503: figures?.status503,
          'No 200 for, s': figures && secondsText(figures.gapMs),
          Load: machineLoad,
          Result: reasons.length === 0 ? 'holds' : reasons.join('; '),
        })),
        'Every run:',
      ),
      { head: ['Versions'], rows: [[readVersions()]] },
    ],
    faults: runs.flatMap(({ fault, run, reasons }) =>
      reasons.map((reason) => `${fault.name} ${run}: ${reason}`),
    ),
    holds: `every bound holds in ${runs.length} runs`,
    charts: Object.fromEntries(
      [...byFault].map(([fault, of]) => [`failover-${fault.name}`, chartOf(fault.title, of)]),
    ),
  }
}

await runProgram({
  command: 'battery -- failover',
  title: 'Verify while a Patroni cluster fails over',
  about: `Three database machines (PostgreSQL, Patroni, etcd), HAProxy, two api processes, a worker and a signer, all on one machine: each database machine has a loopback address, and the files are those that \`deploy/ha/fill-in.sh\` writes. Clients call verify through HAProxy; 15 % of the calls are sent twice at once. A fault begins at a random moment. The data is in memory-backed storage where there is room: a kill is not a loss of power.

"Lost" is acknowledged with 200 and not stored as it was. "Double" is a session with two credentials, a debit without a credential, or more debits than credentials. "4xx" are 402 answers of an agent that has fewer credits than sessions. "Other answers" are all except 200, 202, 4xx and 503, and calls without an answer. Nothing is restarted by hand: in \`node-kill\` Patroni of the killed machine starts again after 20 s, as a machine does that boots; after each run the cluster must have a leader and two replicas again, and every process of the service must be the one that was started first. Public keys are asked for four times a second, and no such request may fail. After the last run of a fault all webhooks must be delivered.`,
  options: {
    faults: [],
    runs: 1,
    clients: 8,
    seed: anySeed(),
    // etcd3 is for a Patroni that is newer than Debian 12's, with which it loses data.
    'etcd-api': 'etcd',
    keep: false,
  },
  minutes: ({ runs, faults }) => 15 + (faults.length === 0 ? 6 : faults.length) * (5 + 6 * runs),
  missing: ({ 'etcd-api': etcdApi }) =>
    etcdApi === 'etcd' || etcdApi === 'etcd3'
      ? installPrograms()
      : '--etcd-api is etcd (the v2 API) or etcd3',
  run: async ({ 'etcd-api': api, ...options }, save) => {
    const startedAt = performance.now()
    const etcdApi = api === 'etcd3' ? 'etcd3' : 'etcd'
    const runs = await runFailover({ ...options, etcdApi }, (done) =>
      save(findingsOf(options.seed, startedAt, done)),
    )
    return findingsOf(options.seed, startedAt, runs)
  },
})
