// Brings about faults of network, database, disks, clocks and processes under load, and checks what clients saw.
import { anySeed } from '../driver/options.ts'
import { runProgram } from '../driver/program.ts'
import { tableOfRecords } from '../driver/report.ts'
import { sum } from '../driver/rounds.ts'
import { runFaults, type FaultResult } from './faults/battery.ts'
import { bounds, type FaultFigures } from './faults/judgement.ts'
import { secondsText } from './verify-load/faults.ts'

const shownOf = ({ title, skipped, proof, figures }: FaultResult) => ({
  'Injected fault': title,
  'Seen by': skipped === undefined ? (proof ?? 'not seen') : `skipped, ${skipped}`,
  'Calls during it': figures?.calls,
  200: figures?.succeeded,
  503: figures?.status503,
  500: figures?.status500,
  'Other 5xx': figures?.otherErrors,
  Unanswered: figures?.unanswered,
  Refused: figures?.refused,
  'Longest call, s': figures && secondsText(figures.longestCallMs),
  '/readyz untrue, s': figures && secondsText(figures.readinessMs),
  'Works again after, s': figures && secondsText(figures.recoveryMs),
  Lost: figures?.lost,
  Double: figures?.doubled,
  Undelivered: figures?.undelivered,
  'By hand': figures?.restartedByHand,
})

await runProgram({
  command: 'battery -- faults',
  title: 'Verify under faults',
  about: `Clients call verify; 15 % of the calls are sent twice at once with one \`Idempotency-Key\`. The bounds: no 500, no other 5xx than 503, no call above ${secondsText(bounds.callMs)} s, \`/readyz\` untrue for at most ${secondsText(bounds.readinessMs)} s, verify works again at most ${secondsText(bounds.recoveryMs)} s after the end of the fault, nothing lost, double, undelivered or restarted by hand. A planned stop fails no call: also no 503. A call fails if a server accepted it and gave no complete answer, or a 5xx. A call that met a closed listener (\`Refused\`) was repeated; that is allowed only when the one server of a machine is stopped.

\`/readyz\` is untrue while it answers 200 and no verify succeeds, while it answers otherwise and verify succeeds, and while it does not answer within ${secondsText(bounds.probeMs)} s. With \`--seconds 0\` each fault lasts its own time.`,
  options: { only: [], seconds: 0, clients: 12, stops: 50, rounds: 10, seed: anySeed(), keep: false },
  smoke: { only: ['stranded', 'sigterm'], clients: 8, stops: 1 },
  minutes: ({ only, seconds, stops, rounds }) =>
    15 + (only.length === 0 ? 20 : only.length) * (6 + seconds / 60) + stops + 2 * rounds,
  run: async ({ seconds, ...options }) => {
    const results = await runFaults({
      ...options,
      seconds: seconds === 0 ? undefined : seconds,
      claimedKeySeconds: 75,
      sessions: 60_000,
      slack: 1,
    })
    const total = (name: keyof FaultFigures) => sum(results.flatMap(({ figures }) => figures?.[name] ?? []))
    const ran = results.filter(({ skipped }) => skipped === undefined)
    return {
      figures: {
        seed: options.seed,
        lost: total('lost'),
        doubleCharged: total('doubled'),
        undelivered: total('undelivered'),
        statuses: { 200: total('succeeded'), 500: total('status500'), 503: total('status503') },
        results,
      },
      tables: [tableOfRecords(results.map(shownOf))],
      faults: results.flatMap(({ name, reasons }) => reasons.map((reason) => `${name}: ${reason}`)),
      holds: `every bound holds; ${ran.length} faults, ${results.length - ran.length} skipped`,
    }
  },
})
