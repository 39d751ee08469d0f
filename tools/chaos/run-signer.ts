// Kills the signer again and again under load, and compares what was answered, stored and journaled.
import { runProgram } from '../driver/program.ts'
import { tableOfFigures } from '../driver/report.ts'
import { runSignerKills } from './signer.ts'

await runProgram({
  command: 'battery -- signer',
  report: 'signer-kills',
  title: 'Verify while the signer is killed',
  about:
    'What was answered is stored, what is stored is in the journal, and every signature is by a published key. `neverStored` are signatures of calls that a kill interrupted.',
  options: { kills: 50, clients: 8 },
  minutes: ({ kills }) => 10 + kills,
  run: async (options) => {
    const findings = await runSignerKills(options)
    return {
      figures: findings,
      tables: [tableOfFigures(findings)],
      faults: findings.faults,
      holds: 'answers, table and journal agree',
    }
  },
})
