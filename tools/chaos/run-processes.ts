// Kills api, signer, worker and PostgreSQL under load, and compares what was answered, stored, paid and delivered.
import { anySeed } from '../driver/options.ts'
import { runProgram } from '../driver/program.ts'
import { tableOfFigures } from '../driver/report.ts'
import { faultsOf, killsMin, runProcessKills } from './processes.ts'

await runProgram({
  command: 'battery -- kill',
  title: 'Verify while api, signer, worker and PostgreSQL are killed',
  about:
    'Each kill is a SIGKILL. `acknowledged` counts credentials that a client got. Each is stored as it was answered (`lost`), charged once (`doubleCharged`, `missingCredential`) and delivered to the webhook (`undelivered`). `duplicates` are deliveries of an event that had arrived already: delivery is at least once. `unknownOutcomes` are calls without an answer or with a 503, repeated until there was one.',
  options: { seconds: 60, clients: 8, networks: 10_000, seed: anySeed() },
  minutes: ({ seconds }) => 15 + seconds / 10,
  run: async (options) => {
    const findings = await runProcessKills(options)
    const { faults: _, ...figures } = findings
    const enough = findings.kills >= killsMin(options.seconds) && findings.acknowledged > 0
    return {
      figures,
      tables: [tableOfFigures(figures)],
      faults: [
        ...(enough ? [] : ['too few kills, or nothing was acknowledged: this says nothing']),
        ...faultsOf(findings),
      ],
      holds: 'nothing lost, nothing charged twice, everything delivered',
    }
  },
})
