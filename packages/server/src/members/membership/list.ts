import type { Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { describeMember } from './read.ts'
import { listMembers } from './store.ts'

type Page = { readonly after?: string | undefined; readonly limit?: number | undefined }

export const list = async (ctx: Ctx, agent: Agent, { after, limit = 50 }: Page) =>
  inTransaction(ctx, agent.agentId, async (tx) => {
    const rows = await listMembers(tx, { agentId: agent.agentId, mode: agent.mode, after, limit: limit + 1 })
    const page = rows.slice(0, limit)
    return {
      members: page.map(describeMember),
      nextCursor: rows.length > limit ? (page.at(-1)?.memberId ?? null) : null,
    }
  })
