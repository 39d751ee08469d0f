import { inTransaction } from '../platform/db/db.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { listSites } from './store.ts'

type Query = { readonly after?: string | undefined; readonly limit?: number | undefined }

/** Which sites have a network budget of their own. */
export const operatorSites = (ctx: Ctx, { after = '', limit = 50 }: Query) =>
  inTransaction(ctx, 'system', async (tx) => {
    const rows = await listSites(tx, { after, limit })
    const last = rows.at(-1)
    return {
      sites: rows.map((row) => ({
        agentId: row.agent_id,
        factor: row.factor,
        changedAt: row.changed_at.toISOString(),
      })),
      nextCursor: last && rows.length === limit ? last.agent_id : null,
    }
  })
