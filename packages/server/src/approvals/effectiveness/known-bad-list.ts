import { inTransaction } from '../../platform/db/db.ts'
import type { Agent } from '../../platform/http/call.ts'
import { readPage, type PageQuery } from '../../platform/http/list-page.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { listKnownBad, type KnownBadRow } from './store.ts'

export const knownBadOf = (row: KnownBadRow) => ({
  approvalId: row.id,
  type: row.type,
  reason: row.reason,
  approvers: [...row.approvers],
  createdAt: row.at.toISOString(),
  outcomes: [
    { decision: 'approve' as const, n: row.approved },
    { decision: 'deny' as const, n: row.denied },
  ],
})

export const knownBadList = async (ctx: Ctx, agent: Agent, query: PageQuery) => {
  const { page, nextCursor, hasMore } = await readPage(
    ctx,
    { name: 'known-bad', agent, query },
    {
      scan: (scan) => inTransaction(ctx, agent.agentId, (tx) => listKnownBad(tx, agent.mode, scan)),
      isListed: undefined,
    },
  )
  return { items: page.map(knownBadOf), nextCursor, hasMore }
}
