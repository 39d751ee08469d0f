// Kills api, signer, worker and PostgreSQL under load, and compares what was answered, stored, paid and delivered.
// npm run battery -- kill [--seconds 60 --clients 8 --networks 10000 --seed 1 --json --report]
import { cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { figuresOf, today, writeReport } from '../report.ts'
import { hasNoFaults, runProcessKills } from './processes.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    clients: { type: 'string', default: '8' },
    networks: { type: 'string', default: '10000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    json: { type: 'boolean', default: false },
    report: { type: 'boolean', default: false },
  },
})
const findings = await runProcessKills({
  seconds: Number(values.seconds),
  clients: Number(values.clients),
  networks: Number(values.networks),
  seed: Number(values.seed),
})
const { faults, ...numbers } = findings
console.table(numbers)
console.log(
  `load of the machine: ${loadavg()
    .map((load) => load.toFixed(1))
    .join(', ')}`,
)
for (const fault of faults.slice(0, 20)) console.log(`✗ ${fault}`)
const enough = findings.kills >= Math.floor(Number(values.seconds) / 4) && findings.acknowledged > 0
if (!enough) console.log('✗ too few kills, or nothing was acknowledged: this says nothing')
const sound = hasNoFaults(findings) && enough
console.log(sound ? '✓ nothing lost, nothing charged twice, everything delivered' : '✗ it does not add up')
if (values.json) console.log(JSON.stringify(numbers))
if (values.report)
  writeReport(
    'kill.md',
    `# Verify while api, signer, worker and PostgreSQL are killed, ${today()}

\`npm run battery -- kill --seconds ${values.seconds} --clients ${values.clients} --networks ${values.networks} --seed ${values.seed}\`, ${cpus().length} cores, load ${loadavg()[1]?.toFixed(1)}. Each kill is a SIGKILL.

${figuresOf(numbers)}

There were ${faults.length} faults.
${faults.map((fault) => `\n- ${fault}`).join('')}
\`acknowledged\` counts credentials that a client got. Each is stored as it was answered (\`lost\`), charged once (\`doubleCharged\`, \`missingCredential\`) and delivered to the webhook (\`undelivered\`). \`duplicates\` are deliveries of an event that had arrived already: delivery is at least once. \`unknownOutcomes\` are calls without an answer or with a 503, repeated until there was one.
`,
  )
if (!sound) process.exitCode = 1
