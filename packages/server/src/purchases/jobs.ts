import { listUnfinalizedPayments, markPaymentChecked, markPaymentSettled } from '../payments/index.ts'
import { inTransaction } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import type { Job } from '../platform/queue/worker.ts'
import type { PurchaseSettlement } from './flow.ts'
import { applySettlementStatus, advancePurchase } from './settle.ts'
import { claimDuePurchases, findPurchase } from './store.ts'

const batchMax = 20
const watchMax = 50

/** An unreachable chain is no failure of a job: the next run tries again. */
const ignoreChainOutage = async (work: () => Promise<unknown>): Promise<void> => {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof Refusal && error.code === 'chain_unreachable')) throw error
  }
}

/** Advances purchases whose caller is gone: the process ended, or the chain or the signer was unreachable. */
const advanceDuePurchases = async (deps: PurchaseSettlement): Promise<number> => {
  const due = await inTransaction(deps.ctx, 'system', (tx) => claimDuePurchases(tx, batchMax))
  await Promise.all(due.map((purchase) => ignoreChainOutage(() => advancePurchase(deps, purchase))))
  return due.length
}

type WatchedPayment = Awaited<ReturnType<typeof listUnfinalizedPayments>>[number]

/** A reverted payment is submitted again, or is void. */
const checkFinality = async (deps: PurchaseSettlement, payment: WatchedPayment): Promise<void> => {
  const { ctx, settlement } = deps
  const { reference } = payment
  const { final, ...status } = await settlement.recheck(payment)
  await inTransaction(ctx, 'system', async (tx) => {
    if (status.kind === 'settled') await markPaymentSettled(tx, reference, status.proof)
    await markPaymentChecked(tx, reference, final)
  })
  if (status.kind !== 'void') return
  ctx.log.error({ reference }, 'payment reverted by the chain')
  const purchase = await inTransaction(ctx, 'system', (tx) => findPurchase(tx, reference))
  if (purchase) await applySettlementStatus(deps, purchase, status, undefined)
}

/** Watches payments until no chain reorganisation can revert them. */
const watchFinality = async (deps: PurchaseSettlement): Promise<void> => {
  const { ctx } = deps
  const payments = await inTransaction(ctx, 'system', (tx) => listUnfinalizedPayments(tx, watchMax))
  for (const payment of payments) {
    const { reference } = payment
    try {
      await checkFinality(deps, payment)
    } catch (error) {
      // The longest unchecked come first: a payment that fails must not be the first of every run.
      await inTransaction(ctx, 'system', (tx) => markPaymentChecked(tx, reference, false))
      // An outage concerns every payment.
      if (error instanceof Refusal) throw error
      ctx.log.error({ err: error, reference }, 'finality of a payment was not checked; it will be retried')
    }
  }
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
