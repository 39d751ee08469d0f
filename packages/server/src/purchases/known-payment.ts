import type { SignedPayment } from '../payments/index.ts'
import { inSingleStatement, inTransaction } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import type { PurchaseSettlement } from './flow.ts'
import { isPending } from './rules.ts'
import { advancePurchase } from './settle.ts'
import { claimPurchase, findPurchase, type Purchase } from './store.ts'

/** How long a call waits for a settlement that another call or process has started. */
const waitMs = 8_000
const pollMs = 100

/** The purchase that already has this payment, whoever sent it first. */
export const findPurchaseByPayment = async (
  { ctx, settlement }: PurchaseSettlement,
  payment: Pick<SignedPayment, 'authorization'>,
): Promise<Purchase | undefined> => {
  // Payments belong to no tenant, so one statement is enough; almost always it finds nothing.
  const claimed = await inSingleStatement(ctx, (tx) => settlement.find(tx, payment))
  return claimed && inTransaction(ctx, 'system', (tx) => findPurchase(tx, claimed.reference))
}

/** Advances a leased purchase. An unreachable chain changes nothing: it stays pending, and the caller retries. */
const advanceIfReachable = async (deps: PurchaseSettlement, leased: Purchase): Promise<Purchase> => {
  try {
    return await advancePurchase(deps, leased)
  } catch (error) {
    if (error instanceof Refusal) return leased
    throw error
  }
}

/** Polls a purchase until it has ended, and advances it when its lease is free. */
export const awaitOutcome = async (deps: PurchaseSettlement, first: Purchase): Promise<Purchase> => {
  const { ctx } = deps
  const until = ctx.clock.now().getTime() + waitMs
  let purchase = first
  while (isPending(purchase.state) && ctx.clock.now().getTime() < until) {
    const leased = await inTransaction(ctx, 'system', (tx) => claimPurchase(tx, first.purchaseId))
    if (leased) return advanceIfReachable(deps, leased)
    await new Promise((resolve) => setTimeout(resolve, pollMs))
    purchase = (await inTransaction(ctx, 'system', (tx) => findPurchase(tx, first.purchaseId))) ?? purchase
  }
  return purchase
}
