import type { Mode } from '@pohf/protocol'
import * as agents from '../agents/index.ts'
import * as credentials from '../credentials/index.ts'
import * as credits from '../credits/index.ts'
import * as ledger from '../ledger/index.ts'
import * as partners from '../partners/index.ts'
import * as payments from '../payments/index.ts'
import type { Tx } from '../platform/db/db.ts'
import type { Ctx } from '../platform/ops/context.ts'
import * as purchases from '../purchases/index.ts'
import * as work from '../work/index.ts'

/**
 * What a change of a unit touches besides the order: the platform agent's ledger, which holds workers' Stars, and the
 * credential.
 */
export const unitDepsOf = (ctx: Ctx) => ({
  platformAgentOf: (mode: Mode) => agents.platformAgentId(ctx.config, mode),
  starsAccountOf: partners.userAccountOf,
  changeCredentialState: credentials.makeChangeCredentialState(ctx),
  returnPurchase: purchases.returnPurchase,
})
/**
 * The account that was paid for a person's work, where a payout was completed. `credentials` and `roots` read it: it is
 * the root `payout_account` of work.
 */
export const findPayoutRootOf =
  (ctx: Ctx) =>
  (tx: Tx, personId: string): Promise<partners.PayoutRoot | undefined> =>
    partners.findPayoutRoot(tx, work.payeeRefOf(ctx.secrets.derive('worker'), personId))

/** For each purpose of a card payment: what to post when it is paid, refunded or disputed. */
export const settlersOf = (ctx: Ctx): payments.Settlers => ({
  credits: credits.cardSettler,
  order: work.makeCardSettler(unitDepsOf(ctx)),
})

/** The records that reconciliation compares the ledger with. */
export const comparisons: readonly ledger.Comparison[] = [
  credentials.debitReconciliation({
    listPostedEntries: ledger.listPostedEntries,
    listUnpostedReferences: ledger.listUnpostedReferences,
  }),
  credits.cardComparison,
  purchases.purchaseReconciliation,
  work.escrowReconciliation,
]

/** What purchases settle with; undefined where no chain is configured. The api and the worker each build one. */
export const makePurchaseSettlement = (
  ctx: Ctx,
  parts: { readonly settlement: payments.Settlement | undefined; readonly mint: credentials.PurchaseMint },
): purchases.PurchaseSettlement | undefined => {
  const { settlement, mint } = parts
  const changeState = credentials.makeChangeCredentialState(ctx)
  const revoke: purchases.PurchaseSettlement['revoke'] = (tx, credentialId, reason) =>
    changeState(tx, { credentialId, reason, to: 'revoked' })
  return settlement && { ctx, settlement, mint, stock: purchases.stock, revoke, unitDeps: unitDepsOf(ctx) }
}
