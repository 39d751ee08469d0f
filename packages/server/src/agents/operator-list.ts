import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction } from '../platform/db/db.ts'
import { listAgents } from './store.ts'

export const operatorList = async (
  ctx: Ctx,
  page: { after?: string | undefined; limit?: number | undefined },
) =>
  inTransaction(ctx, 'system', async (tx) => {
    const rows = await listAgents(tx, page.after ?? '', page.limit ?? 50)
    return {
      agents: rows.map((row) => ({
        agentId: row.agent_id,
        name: row.name,
        mode: row.mode,
        emailConfirmed: row.email_confirmed_at !== null,
        suspended: row.suspended_at !== null,
        createdAt: row.created_at.toISOString(),
      })),
    }
  })
