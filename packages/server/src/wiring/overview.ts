import type * as agents from '../agents/index.ts'
import * as credits from '../credits/index.ts'
import * as evidence from '../evidence/index.ts'
import * as ledger from '../ledger/index.ts'
import type * as operators from '../operators/index.ts'
import * as partners from '../partners/index.ts'
import * as payments from '../payments/index.ts'
import * as purchases from '../purchases/index.ts'
import * as roots from '../roots/index.ts'
import type { Signer } from '../signing/index.ts'
import * as webhooks from '../webhooks/index.ts'
import * as work from '../work/index.ts'

/** What waits in each module. */
export const countWork: operators.OverviewDeps['countWork'] = async (tx, max) => {
  const payouts = await partners.countOpenPayouts(tx, max)
  return {
    webhooks: await webhooks.countReadyDeliveries(tx, max),
    purchases: await purchases.countDuePurchases(tx, max),
    gasKeys: await payments.countGasKeys(tx, max),
    decisions: {
      payoutsToReview: payouts.queued,
      payoutsToApprove: payouts.inReview,
      payoutsToPay: payouts.approved,
      appeals: await work.countAppealed(tx, max),
      offers: await work.countWaitingOffers(tx, max),
      reviews: await work.countReviews(tx, max),
      failedRefunds: await payments.countFailedRefunds(tx, max),
      purchasesToRefund: await purchases.countPurchasesByState(tx, 'refund_due', max),
    },
    ledgerDifferences: Math.min((await ledger.listOpenDrift(tx)).length, max),
  }
}

/** Reads the time until which each active key signs, for the signers that answer. */
export const readKeysOf =
  (signer: Signer): operators.OverviewDeps['readKeys'] =>
  async () => {
    const figures = await signer.figures().catch(() => [])
    if (figures.length === 0) return null
    return figures.flatMap(({ signer: id, keys }) =>
      keys.map(({ purpose, activeUntil }) => ({
        signer: id,
        purpose,
        activeUntil: new Date(activeUntil).toISOString(),
      })),
    )
  }

/** What other modules hold for an agent. */
export const readHoldings: agents.ReadHoldings = async (tx, { agentId, mode }) => {
  const balance = { agentId, mode, account: credits.accounts.balance, unit: 'credit' } as const
  const limit = { agentId, mode, account: partners.accounts.limit, unit: 'star' } as const
  return {
    credits: Number(await ledger.balanceOf(tx, balance)),
    limitStars: mode === 'test' ? null : Number(await ledger.balanceOf(tx, limit)),
    networkFactor: await roots.findSiteFactor(tx, agentId),
    admittedApps: await evidence.listAdmitted(tx, agentId),
  }
}
