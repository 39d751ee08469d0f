// Buys while the api is killed and the chain misbehaves, and counts what was paid against what was delivered.
import { runProgram } from '../driver/program.ts'
import { tableOfFigures } from '../driver/report.ts'
import { faultsOf, runPurchaseKills } from './purchases.ts'

await runProgram({
  command: 'battery -- purchase',
  report: 'purchase-battery',
  title: 'Purchases while the api is killed and the chain misbehaves',
  about:
    '`acknowledged` purchases were answered 200; `void` payments moved no money, as they should: cancelled, or a token that reports success and pays nothing. `missingCredential` was charged without a credential, `credentialWithoutPayment` is the reverse. `unknownOutcomes` are calls without an answer, or with 202 or 503, repeated until there was one. `gasUsed` is the gas of all our transactions, `gasLost` of those that moved nothing. Of these, contract wallets that fail on purpose cost `gasLostToContractWallets`, which must not exceed `gasBudget`; `refusedForBudget` payments of contract wallets were refused because it was used up.',
  options: { purchases: 1_000, clients: 8, seed: 1 },
  minutes: ({ purchases }) => 20 + purchases / 10,
  run: async (options) => {
    const findings = await runPurchaseKills(options)
    const { faults: _, byScenario, ...numbers } = findings
    return {
      figures: findings,
      tables: [tableOfFigures(numbers), tableOfFigures(byScenario, 'Purchases by scenario:')],
      faults: faultsOf(findings),
      holds: 'every charge has its credential, and the reverse',
    }
  },
})
