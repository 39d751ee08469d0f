// Runs random lives of orders with hostile buyers and workers, and compares every step with a model and the ledger.
// npm run battery -- orders [--lives 10000 --processes 2 --steps 10 --seed 1 --json --report]
import { cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { figuresOf, today, writeReport } from '../report.ts'
import { runOrderLives } from './orders.ts'

const { values } = parseArgs({
  options: {
    lives: { type: 'string', default: '10000' },
    processes: { type: 'string', default: '2' },
    steps: { type: 'string', default: '10' },
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
    report: { type: 'boolean', default: false },
  },
})
const startedAt = performance.now()
const { lives, steps, faults } = await runOrderLives({
  lives: Number(values.lives),
  processes: Number(values.processes),
  steps: Number(values.steps),
  seed: Number(values.seed),
})
const minutes = Number(((performance.now() - startedAt) / 60_000).toFixed(1))
if (values.json) console.log(JSON.stringify({ lives, minutes, steps, faults }))
else {
  console.table({ lives, minutes })
  console.table(steps)
  for (const fault of faults.slice(0, 20)) console.log(`✗ ${fault}`)
  console.log(faults.length === 0 ? '✓ no difference' : `${faults.length} faults`)
}
if (values.report)
  writeReport(
    'orders.md',
    `# Lives of orders with hostile buyers and workers, ${today()}

\`npm run battery -- orders --lives ${values.lives} --processes ${values.processes} --steps ${values.steps} --seed ${values.seed}\`, ${cpus().length} cores, load ${loadavg()[1]?.toFixed(1)}. The processes and PostgreSQL share the machine.

${figuresOf({ lives, minutes })}

A life is an order of one to three units, three people and at most ${values.steps} random steps, then whatever ends it. After each step the states, the escrow, the payments and the credentials are compared with a model, and after each batch the whole ledger: Stars equal the cents behind them and what was earned, the operator spent what it pays, a refused or charged-back unit has no credential that verifies, a wrong known answer is not paid.

Steps, taken and refused:

${figuresOf(steps)}

There were ${faults.length} faults.
${faults.map((fault) => `\n- ${fault}`).join('')}
`,
  )
if (faults.length > 0) process.exitCode = 1
