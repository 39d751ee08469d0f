import { listUnfinalPayments, markPaymentLooked, markPaymentSettled } from '../payments/index.ts'
import { inTransaction } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import type { Duty } from '../platform/queue/worker.ts'
import { apply, drive, type Till } from './settle.ts'
import { claimDuePurchases, findPurchase } from './store.ts'

const batchMax = 20
const watchMax = 50

/** A chain that is away is no fault of a duty: what waits, waits. */
const unlessAway = async (work: () => Promise<unknown>): Promise<void> => {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
  }
}

/** Brings purchases on whose caller is gone: the process died, the chain was away, the signer was. */
const driveDue = async (till: Till): Promise<number> => {
  const due = await inTransaction(till.ctx, 'system', (tx) => claimDuePurchases(tx, batchMax))
  await Promise.all(due.map((purchase) => unlessAway(() => drive(till, purchase))))
  return due.length
}

/** Watches payments until no reorganisation of the chain can undo them. One that is gone is sent again, or is void. */
const watchFinality = async (till: Till): Promise<number> => {
  const { ctx, settlement } = till
  const watched = await inTransaction(ctx, 'system', (tx) => listUnfinalPayments(tx, watchMax))
  for (const payment of watched) {
    const { final, ...standing } = await settlement.recheck(payment)
    const { reference } = payment
    await inTransaction(ctx, 'system', async (tx) => {
      if (standing.kind === 'settled') await markPaymentSettled(tx, reference, standing.proof)
      await markPaymentLooked(tx, reference, final)
    })
    if (standing.kind !== 'void') continue
    ctx.log.error({ reference }, 'the chain undid a payment, and what was delivered for it is revoked')
    const purchase = await inTransaction(ctx, 'system', (tx) => findPurchase(tx, reference))
    if (purchase) await apply(till, purchase, standing, undefined)
  }
  return 0
}

export const purchaseDuties = (till: Till): Duty[] => [
  { name: 'purchases', everyMs: 1_000, run: () => driveDue(till) },
  {
    name: 'payments under watch',
    everyMs: 15_000,
    run: async () => {
      await unlessAway(() => watchFinality(till))
      return 0
    },
  },
  {
    name: 'gas accounts',
    everyMs: 15_000,
    run: async () => {
      await unlessAway(() => till.settlement.care())
      return 0
    },
  },
]
