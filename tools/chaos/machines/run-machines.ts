// Kills processes and whole application machines under load, and checks that no acknowledged credential is lost or double.
// Each machine is a network namespace of this one. It needs root, and on Debian it installs iproute2 and haproxy.
import { drawTimeline } from '../../driver/chart.ts'
import { anySeed } from '../../driver/options.ts'
import { runProgram } from '../../driver/program.ts'
import { tableOfFigures, tableOfRecords } from '../../driver/report.ts'
import { median } from '../../driver/rounds.ts'
import { secondsText } from '../verify-load/faults.ts'
import { runMachines, type MachinesRecord } from './battery.ts'
import { installPrograms } from './network.ts'

const title = 'Verify while processes and machines are killed'

const medianAndLongest = (ms: readonly number[]): string =>
  ms.length === 0 ? 'none' : `${secondsText(median(ms))} / ${secondsText(Math.max(...ms))}`

const killRow = (part: string, { kills }: MachinesRecord) => {
  const own = kills.filter((kill) => kill.part === part)
  return {
    Killed: part === 'machine' ? 'whole machine' : part,
    Times: own.length,
    'No 200 from a running api, median / longest, s': medianAndLongest(own.map(({ gapMs }) => gapMs)),
    'Until it worked again, median / longest, s': medianAndLongest(
      own.map(({ killedAt, backAt }) => backAt - killedAt),
    ),
  }
}

const chartOf = ({ startedAt, machines, calls, kills }: MachinesRecord): string => {
  const after = (ms: number) => (ms - startedAt) / 1_000
  return drawTimeline(
    title,
    machines.map(({ name, baseUrl }) => {
      const times = (isCounted: (status: number) => boolean) =>
        calls
          .filter((call) => call.baseUrl === baseUrl && isCounted(call.status))
          .map(({ endedAt }) => after(endedAt))
      return {
        name,
        succeeded: times((status) => status === 200),
        failed: times((status) => status === 0 || status >= 500),
        spans: kills
          .filter((kill) => kill.baseUrl === baseUrl)
          .map(({ part, killedAt, backAt }) => ({
            name: `${part} killed`,
            from: after(killedAt),
            to: after(backAt),
          })),
      }
    }),
  )
}

await runProgram({
  command: 'battery -- machines',
  title,
  about: `Two application machines, each a network namespace with HAProxy, an api, a worker and a signer with a key folder of its own; PostgreSQL, the clients and a receiver of webhooks are outside. An api prefers the signer of its machine and connects to the other one by TLS 1.3. The admission key is on neither. Clients call verify on both machines in turn; 20 % of the calls are sent twice at once, to both. A kill is a SIGKILL. A whole machine loses its network first, then all processes, and boots 3 to 8 seconds later. One kernel, one disk and one clock: a loss of power is not part of this.

\`neverStored\` are signatures that nobody got: of two calls for one session at once only one is stored, and a killed api stores nothing. Every acknowledged credential must be stored, paid once and journaled, a machine whose api was running may give no answer other than 200, 4xx and 503 \`overloaded\`, and no revoked key may sign after 5 seconds.`,
  options: { kills: 50, clients: 8, seed: anySeed(), keep: false },
  minutes: ({ kills }) => 30 + kills,
  missing: () => installPrograms(),
  run: async (options) => {
    const { findings, record } = await runMachines(options)
    const { statuses, signedBy, revocations, faults, ...numbers } = findings
    return {
      figures: findings,
      tables: [
        tableOfFigures(numbers),
        tableOfFigures(statuses, 'Answers by status, 0 where there was none:'),
        tableOfFigures(signedBy, 'Signatures by machine:'),
        tableOfRecords(['api', 'signer', 'worker', 'machine'].map((part) => killRow(part, record))),
        tableOfRecords(
          revocations.map(({ owner, revokedOn, before, after, lastSignatureMs, unpublishedMs }) => ({
            'Key of': owner,
            'Revoked on': revokedOn,
            'Signatures in the 10 s before': before,
            After: after,
            'Last one after, ms': lastSignatureMs,
            'Unpublished after, ms': unpublishedMs,
          })),
        ),
      ],
      faults,
      holds: 'nothing lost, nothing double',
      charts: { machines: chartOf(record) },
    }
  },
})
