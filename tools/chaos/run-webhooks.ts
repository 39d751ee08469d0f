// Kills workers and PostgreSQL again and again under load, and counts what every endpoint was given.
// npm run battery -- webhooks [--seconds 60 --plant-loss --json --report]
import { cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { figuresOf, today, writeReport } from '../report.ts'
import { runWebhookKills } from './webhooks.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    'plant-loss': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    report: { type: 'boolean', default: false },
  },
})
const duplicatesPercentMax = 10
const findings = await runWebhookKills({ seconds: Number(values.seconds), plantLoss: values['plant-loss'] })
const faults = [
  ...findings.faults,
  ...(findings.duplicatesPercent > duplicatesPercentMax
    ? [`${findings.duplicatesPercent} % came more than once; at most ${duplicatesPercentMax} % may`]
    : []),
]
const { faults: _, ...numbers } = findings
if (values.json) console.log(JSON.stringify({ ...findings, faults }))
else {
  console.table(numbers)
  for (const fault of faults.slice(0, 20)) console.log(`✗ ${fault}`)
  console.log(faults.length === 0 ? '✓ nothing lost' : `${faults.length} faults`)
}
if (values.report)
  writeReport(
    'webhook-kills.md',
    `# Workers and PostgreSQL killed while webhooks are delivered, ${today()}

\`npm run battery -- webhooks --seconds ${values.seconds} --report\`, ${cpus().length} cores, load ${loadavg()[1]?.toFixed(1)}; how it is done: [the first report](2026-11-15-webhook-deaths.md).

${figuresOf(numbers)}

Deliveries are due for committed events, one for each endpoint. There were ${faults.length} faults.
${faults.map((fault) => `\n- ${fault}`).join('')}
`,
  )
if (faults.length > 0) process.exitCode = 1
