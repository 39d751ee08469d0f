import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction } from '../platform/db/db.ts'
import type { PurchaseState } from './rules.ts'
import { listPurchasesByState } from './store.ts'
import { presentListedPurchase, readCursor, writeCursor } from './list.ts'

type Query = {
  readonly status?: PurchaseState | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Purchases in one state; by default those that need a refund. */
export const operatorPurchases = async (ctx: Ctx, { status = 'refund_due', limit = 50, cursor }: Query) => {
  const after = cursor === undefined ? undefined : readCursor(cursor)
  const rows = await inTransaction(ctx, 'system', (tx) =>
    listPurchasesByState(tx, status, { after, limit: limit + 1 }),
  )
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  return {
    purchases: page.map((row) => ({ ...presentListedPurchase(row), agentId: row.agentId, mode: row.mode })),
    nextCursor: rows.length > limit && last ? writeCursor(last.position) : null,
  }
}
