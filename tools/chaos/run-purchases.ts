// Buys while the api is killed and the chain misbehaves, and counts what was paid against what was delivered.
// npm run battery -- purchase [--purchases 1000 --clients 8 --seed 1 --json --report]
import { cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { figuresOf, today, writeReport } from '../report.ts'
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
    'purchase-battery.md',
    `# Purchases while the api is killed and the chain misbehaves, ${today()}

\`npm run battery -- purchase --purchases ${values.purchases} --clients ${values.clients} --seed ${values.seed}\`, ${cpus().length} cores, load ${loadavg()[1]?.toFixed(1)}. Server, PostgreSQL, chain and buyers share the machine.

${figuresOf(numbers)}

Purchases by scenario:

${figuresOf(byScenario)}

There were ${faults.length} faults.
${faults.map((fault) => `\n- ${fault}`).join('')}
\`acknowledged\` purchases were answered 200; \`void\` payments moved no money, as they should: cancelled, or a token that reports success and pays nothing. \`missingCredential\` was charged without a credential, \`credentialWithoutPayment\` is the reverse. \`unknownOutcomes\` are calls without an answer, or with 202 or 503, repeated until there was one. \`gasUsed\` is the gas of all our transactions, \`gasLost\` of those that moved nothing. Of these, contract wallets that fail on purpose cost \`gasLostToContractWallets\`, which must not exceed \`gasBudget\`; \`refusedForBudget\` payments of contract wallets were refused because it was used up.
`,
  )
if (!hasNoFaults(findings)) process.exitCode = 1
