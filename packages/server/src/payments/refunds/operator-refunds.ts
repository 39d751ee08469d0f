import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import type { OwnRefundState } from './rules.ts'
import { listRefunds } from './store.ts'

type Query = {
  readonly state?: OwnRefundState | undefined
  readonly agentId?: string | undefined
  readonly after?: string | undefined
  readonly limit?: number | undefined
}

/** The refunds with their states. */
export const operatorRefunds = async (ctx: Ctx, query: Query) => {
  const { limit = 50 } = query
  const rows = await inTransaction(ctx, 'system', (tx) =>
    listRefunds(tx, { state: query.state, agentId: query.agentId, after: query.after ?? '', limit }),
  )
  const last = rows.at(-1)
  return {
    refunds: rows.map((row) => ({
      refundId: row.refundId,
      agentId: row.agentId,
      mode: row.mode,
      checkoutId: row.checkoutId,
      amountUsd: Number(row.amountUsdCents) / 100,
      reason: row.reason,
      state: row.state,
      providerRefundId: row.providerRefundId,
      attempts: row.attempts,
      fault: row.fault,
      createdAt: row.createdAt.toISOString(),
      changedAt: row.changedAt.toISOString(),
    })),
    nextCursor: last && rows.length === limit ? last.refundId : null,
  }
}
