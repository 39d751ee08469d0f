import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction } from '../platform/db/db.ts'
import type { PurchaseState } from './rules.ts'
import { listPurchasesByState } from './store.ts'
import { presentListedPurchase } from './list.ts'

type Query = { readonly status?: PurchaseState | undefined; readonly limit?: number | undefined }

/** Purchases in one state; by default those that need a refund. */
export const operatorPurchases = async (ctx: Ctx, { status = 'refund_due', limit = 50 }: Query) => {
  const rows = await inTransaction(ctx, 'system', (tx) => listPurchasesByState(tx, status, limit))
  return {
    purchases: rows.map((row) => ({ ...presentListedPurchase(row), agentId: row.agentId, mode: row.mode })),
  }
}
