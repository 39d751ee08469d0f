// Buys while the api is killed and the chain misbehaves, and counts what was paid against what was delivered.
// npm run battery:purchase [-- --purchases 1000 --clients 8 --seed 1 --json --report]
import { cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { tableOf, writeReport } from '../report.ts'
import { hasNoFaults, runPurchaseKills } from './purchases.ts'

const { values } = parseArgs({
  options: {
    purchases: { type: 'string', default: '1000' },
    clients: { type: 'string', default: '8' },
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
    report: { type: 'boolean', default: false },
  },
})
const findings = await runPurchaseKills({
  purchases: Number(values.purchases),
  clients: Number(values.clients),
  seed: Number(values.seed),
})
const { faults, byScenario, ...numbers } = findings
if (values.json) console.log(JSON.stringify(findings))
else {
  console.table(numbers)
  console.table(byScenario)
  for (const fault of faults.slice(0, 20)) console.log(`✗ ${fault}`)
  console.log(
    hasNoFaults(findings) ? '✓ every charge has its credential, and the reverse' : `${faults.length} faults`,
  )
}
if (values.report)
  writeReport(
    'purchase-battery',
    'Purchases while the api is killed and the chain misbehaves',
    `\`npm run battery:purchase -- --purchases ${values.purchases} --clients ${values.clients} --seed ${values.seed}\`, ${cpus().length} cores, load ${loadavg()[1]?.toFixed(1)}. Server, PostgreSQL, chain and buyers share the machine.\n\n${tableOf(numbers)}\n\nPurchases by scenario:\n\n${tableOf(byScenario)}\n\nFaults: ${faults.length}.\n${faults.map((fault) => `\n- ${fault}`).join('')}`,
  )
if (!hasNoFaults(findings)) process.exitCode = 1
