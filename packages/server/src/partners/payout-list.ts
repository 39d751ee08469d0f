import type { Mode, PayoutRisk, PayoutState } from '@pohf/protocol'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction, type Tx } from '../platform/db/db.ts'
import { presentAccounts } from './accounts/accounts.ts'
import { listUserActivity } from './statement/store.ts'
import { listPayouts, type PayoutRow } from './store.ts'

type Query = {
  readonly status?: PayoutState | undefined
  readonly after?: string | undefined
  readonly limit?: number | undefined
}

/** Provided by the wiring: what a reviewer must know about the workers among these users, in the order of the list. */
export type ListPayoutRisks = (
  tx: Tx,
  payouts: readonly { readonly agentId: string; readonly mode: Mode; readonly userRef: string }[],
) => Promise<readonly (PayoutRisk | null)[]>

/** How fast each user gains and withdraws. */
const presentActivity = async (tx: Tx, rows: readonly PayoutRow[]) =>
  (
    await listUserActivity(
      tx,
      rows.map((row) => ({ agentId: row.agent_id, mode: row.mode, userRef: row.user_ref })),
    )
  ).map(({ starsDay, starsWeek, firstSeenAt, ...counts }) => ({
    ...counts,
    starsDay: Number(starsDay),
    starsWeek: Number(starsWeek),
    firstSeenAt: firstSeenAt?.toISOString() ?? null,
  }))

export const payoutList = async (ctx: Ctx, listRisks: ListPayoutRisks, query: Query) =>
  inTransaction(ctx, 'system', async (tx) => {
    const { limit = 50 } = query
    const rows = await listPayouts(tx, { state: query.status, after: query.after ?? '', limit })
    const last = rows.at(-1)
    const risks = await listRisks(
      tx,
      rows.map((row) => ({ agentId: row.agent_id, mode: row.mode, userRef: row.user_ref })),
    )
    const accounts = await presentAccounts(tx, rows)
    const activity = await presentActivity(tx, rows)
    return {
      payouts: rows.map((row, index) => ({
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
        risk: risks[index] ?? null,
        activity: risks[index] || row.account_no !== null ? null : (activity[index] ?? null),
        account: accounts[index] ?? null,
      })),
      nextCursor: last && rows.length === limit ? last.request_id : null,
    }
  })
