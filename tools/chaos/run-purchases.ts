// Buys while the api is killed and the chain misbehaves, and counts what was paid against what was delivered.
// npm run battery:purchase [-- --purchases 1000 --clients 8 --seed 1 --json]
import { parseArgs } from 'node:util'
import { hasNoFaults, runPurchaseKills } from './purchases.ts'

const { values } = parseArgs({
  options: {
    purchases: { type: 'string', default: '1000' },
    clients: { type: 'string', default: '8' },
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
  },
})
const findings = await runPurchaseKills({
  purchases: Number(values.purchases),
  clients: Number(values.clients),
  seed: Number(values.seed),
})
if (values.json) console.log(JSON.stringify(findings))
else {
  const { faults, byScenario: byFate, ...numbers } = findings
  console.table(numbers)
  console.table(byFate)
  for (const fault of faults.slice(0, 20)) console.log(`✗ ${fault}`)
  console.log(
    hasNoFaults(findings) ? '✓ every charge has its credential, and the reverse' : `${faults.length} faults`,
  )
}
if (!hasNoFaults(findings)) process.exitCode = 1
