// Runs random lives of orders with hostile buyers and workers, and compares every step with a model and the ledger.
import { runProgram } from '../driver/program.ts'
import { tableOfFigures } from '../driver/report.ts'
import { rounded } from '../driver/rounds.ts'
import { runOrderLives } from './orders.ts'

await runProgram({
  command: 'battery -- orders',
  title: 'Lives of orders with hostile buyers and workers',
  about:
    'A life is an order of one to three units, three people and some random steps (`--steps`), then whatever ends it. After each step the states, the escrow, the payments and the credentials are compared with a model, and after each batch the whole ledger: Stars equal the cents behind them and what was earned, the operator spent what it pays, a refused or charged-back unit has no credential that verifies, a wrong known answer is not paid.',
  options: { lives: 10_000, processes: 2, steps: 10, seed: 1 },
  smoke: { lives: 60, processes: 1 },
  minutes: ({ lives }) => 15 + lives / 50,
  run: async (options) => {
    const startedAt = performance.now()
    const { lives, steps, faults } = await runOrderLives(options)
    const minutes = rounded((performance.now() - startedAt) / 60_000)
    return {
      figures: { lives, minutes, steps, faults },
      tables: [tableOfFigures({ lives, minutes }), tableOfFigures(steps, 'Steps, taken and refused:')],
      faults,
      holds: 'no difference',
    }
  },
})
