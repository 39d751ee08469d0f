// One process of the battery orders: random lives of orders on a database of its own; prints its findings as JSON.
import { readOptions } from '../driver/options.ts'
import { openHarness } from '../../packages/server/test/fixtures/harness.ts'
import { ledgerFaults } from '../../packages/server/test/fixtures/payments/ledger.ts'
import {
  makeModelContext,
  moneyFaults,
  runOrderModel,
  modelSetupSql,
} from '../../packages/server/test/fixtures/payments/order-model.ts'

const options = readOptions({ lives: 100, steps: 10, seed: 1 }, undefined, process.argv.slice(2))
/** Lives that run at the same time; each context has its own buyer and workflow. */
const contextCount = 6
const batches = 10

const messageOf = (error: unknown): string =>
  error instanceof Error
    ? `${error.message}${error.cause ? ` <- ${messageOf(error.cause)}` : ''}`
    : String(error)

const harness = await openHarness()
await harness.owner.query(modelSetupSql)
const contexts = await Promise.all(
  Array.from({ length: contextCount }, (_, index) => makeModelContext(harness, `c${index}`)),
)
const faults: string[] = []
const perBatch = Math.ceil(options.lives / contextCount / batches)
let lives = 0
for (let batch = 0; batch < batches && faults.length === 0; batch++) {
  await Promise.all(
    contexts.map(async (context, index) => {
      const seed = options.seed * 1_000 + batch * contextCount + index
      await runOrderModel(context, perBatch, options.steps, seed).then(
        () => (lives += perBatch),
        (error: unknown) => faults.push(messageOf(error)),
      )
    }),
  )
  faults.push(...(await ledgerFaults(harness)), ...(await moneyFaults(harness)))
}
const steps: Record<string, number> = {}
for (const { counts } of contexts)
  for (const [step, count] of counts) steps[step] = (steps[step] ?? 0) + count
await harness.close()
console.log(JSON.stringify({ lives, steps, faults }))
