// Kills workers and PostgreSQL again and again under load, and counts what every endpoint was given.
// npm run battery:webhooks [-- --seconds 60 --plant-loss --json]
import { parseArgs } from 'node:util'
import { runWebhookKills } from './webhooks.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    'plant-loss': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
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
if (values.json) console.log(JSON.stringify({ ...findings, faults }))
else {
  const { faults: _, ...numbers } = findings
  console.table(numbers)
  for (const fault of faults.slice(0, 20)) console.log(`✗ ${fault}`)
  console.log(faults.length === 0 ? '✓ nothing lost' : `${faults.length} faults`)
}
if (faults.length > 0) process.exitCode = 1
