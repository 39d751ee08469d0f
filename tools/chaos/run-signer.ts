// Kills the signer again and again under load, and compares what was answered, stored and journaled.
// npm run battery -- signer [--kills 50 --clients 8 --json]
import { parseArgs } from 'node:util'
import { runSignerKills } from './signer.ts'

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '50' },
    clients: { type: 'string', default: '8' },
    json: { type: 'boolean', default: false },
  },
})
const findings = await runSignerKills({ kills: Number(values.kills), clients: Number(values.clients) })
if (values.json) console.log(JSON.stringify(findings))
else {
  const { faults, ...numbers } = findings
  console.table(numbers)
  for (const fault of faults.slice(0, 20)) console.log(`✗ ${fault}`)
  console.log(faults.length === 0 ? '✓ no difference' : `${faults.length} faults`)
}
if (findings.faults.length > 0) process.exitCode = 1
