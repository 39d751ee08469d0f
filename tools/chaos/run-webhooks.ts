// Kills workers and PostgreSQL again and again under load, and counts what every endpoint was given.
import { runProgram } from '../driver/program.ts'
import { tableOfFigures } from '../driver/report.ts'
import { runWebhookKills } from './webhooks.ts'

const duplicatesPercentMax = 10

await runProgram({
  command: 'battery -- webhooks',
  report: 'webhook-kills',
  title: 'Workers and PostgreSQL killed while webhooks are delivered',
  about:
    'How it is done: [the first report](2026-11-15-webhook-deaths.md). Deliveries are due for committed events, one for each endpoint.',
  options: { seconds: 60, 'plant-loss': false },
  minutes: ({ seconds }) => 20 + seconds / 30,
  run: async (options) => {
    const findings = await runWebhookKills({
      seconds: options.seconds,
      plantLoss: options['plant-loss'],
    })
    const { duplicatesPercent } = findings
    const faults = [
      ...findings.faults,
      ...(duplicatesPercent > duplicatesPercentMax
        ? [`${duplicatesPercent} % came more than once; at most ${duplicatesPercentMax} % may`]
        : []),
    ]
    return {
      figures: { ...findings, faults },
      tables: [tableOfFigures(findings)],
      faults,
      holds: 'nothing lost',
    }
  },
})
