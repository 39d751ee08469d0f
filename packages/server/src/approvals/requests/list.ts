import type { ApprovalState } from '@pohf/protocol'
import { inTransaction, readNow } from '../../platform/db/db.ts'
import type { Agent } from '../../platform/http/call.ts'
import { readPage, type PageQuery } from '../../platform/http/list-page.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { statusAt } from '../rules.ts'
import { listApprovals, type ListedApproval } from '../store.ts'

type Query = Pick<PageQuery, 'limit' | 'cursor'> & {
  readonly status?: ApprovalState | undefined
  readonly type?: string | undefined
  readonly from?: Date | undefined
  readonly to?: Date | undefined
}

const presentListed = (row: ListedApproval, now: Date) => ({
  approvalId: row.id,
  mode: row.mode,
  status: statusAt(row, now),
  type: row.type,
  requestId: row.requestId,
  audience: row.audience,
  approved: row.approved,
  quorum: row.quorum,
  createdAt: row.at.toISOString(),
  decideBy: row.decideBy.toISOString(),
  decidedAt: row.decidedAt?.toISOString() ?? null,
  consumedAt: row.consumedAt?.toISOString() ?? null,
})

/** The approvals that an agent requested, newest first. Known-bad requests are not among them. */
export const list = (ctx: Ctx, agent: Agent, { from, to, ...filtered }: Query) =>
  inTransaction(ctx, agent.agentId, async (tx) => {
    const now = await readNow(tx)
    const { status, type } = filtered
    const query = { ...filtered, since: from, until: to }
    const hasFilter = status !== undefined || type !== undefined
    const { page: rows, ...next } = await readPage<ListedApproval>(
      ctx,
      { name: 'approvals', agent, query },
      {
        scan: (scan) => listApprovals(tx, agent.mode, scan),
        isListed: hasFilter
          ? (row) =>
              (status === undefined || statusAt(row, now) === status) &&
              (type === undefined || row.type === type)
          : undefined,
      },
    )
    return { approvals: rows.map((row) => presentListed(row, now)), ...next }
  })
