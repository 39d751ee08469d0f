import type { PayoutState } from '@pohf/protocol'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction } from '../platform/db/db.ts'
import { listPayouts } from './store.ts'

type Query = {
  readonly status?: PayoutState | undefined
  readonly after?: string | undefined
  readonly limit?: number | undefined
}

export const payoutList = async (ctx: Ctx, query: Query) =>
  inTransaction(ctx, 'system', async (tx) => {
    const rows = await listPayouts(tx, {
      state: query.status,
      after: query.after ?? '',
      limit: query.limit ?? 50,
    })
    return {
      payouts: rows.map((row) => ({
        requestId: row.request_id,
        agentId: row.agent_id,
        mode: row.mode,
        userRef: row.user_ref,
        stars: Number(row.stars),
        simulated: row.simulated,
        status: row.state,
        createdAt: row.created_at.toISOString(),
        changedAt: row.changed_at.toISOString(),
        reviewedBy: row.reviewed_by,
        approvedBy: row.approved_by,
        paidBy: row.paid_by,
        paymentRef: row.payment_ref,
        rejectedBy: row.rejected_by,
        rejectReason: row.reject_reason,
      })),
    }
  })
