import { listUnfinalizedPayments, markPaymentChecked, markPaymentSettled } from '../payments/index.ts'
import { inTransaction } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import type { Job } from '../platform/queue/worker.ts'
import { applySettlementState, advancePurchase, type PurchaseSettlement } from './settle.ts'
import { claimDuePurchases, findPurchase } from './store.ts'

const batchMax = 20
const watchMax = 50

/** A chain that is away is no fault of a duty: what waits, waits. */
const ignoreChainOutage = async (work: () => Promise<unknown>): Promise<void> => {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
  }
}

/** Brings purchases on whose caller is gone: the process died, the chain was away, the signer was. */
const advanceDuePurchases = async (deps: PurchaseSettlement): Promise<number> => {
  const due = await inTransaction(deps.ctx, 'system', (tx) => claimDuePurchases(tx, batchMax))
  await Promise.all(due.map((purchase) => ignoreChainOutage(() => advancePurchase(deps, purchase))))
  return due.length
}

/** Watches payments until no reorganisation of the chain can undo them. One that is gone is sent again, or is void. */
const watchFinality = async (deps: PurchaseSettlement): Promise<number> => {
  const { ctx, settlement } = deps
  const watched = await inTransaction(ctx, 'system', (tx) => listUnfinalizedPayments(tx, watchMax))
  for (const payment of watched) {
    const { final, ...settlementState } = await settlement.recheck(payment)
    const { reference } = payment
    await inTransaction(ctx, 'system', async (tx) => {
      if (settlementState.kind === 'settled') await markPaymentSettled(tx, reference, settlementState.proof)
      await markPaymentChecked(tx, reference, final)
    })
    if (settlementState.kind !== 'void') continue
    ctx.log.error({ reference }, 'payment reverted by the chain; its credential is revoked')
    const purchase = await inTransaction(ctx, 'system', (tx) => findPurchase(tx, reference))
    if (purchase) await applySettlementState(deps, purchase, settlementState, undefined)
  }
  return 0
}

export const purchaseJobs = (deps: PurchaseSettlement): Job[] => [
  { name: 'purchases', everyMs: 1_000, run: () => advanceDuePurchases(deps) },
  {
    name: 'payments under watch',
    everyMs: 15_000,
    run: async () => {
      await ignoreChainOutage(() => watchFinality(deps))
      return 0
    },
  },
  {
    name: 'gas accounts',
    everyMs: 15_000,
    run: async () => {
      await ignoreChainOutage(() => deps.settlement.maintainGasAccounts())
      return 0
    },
  },
]
