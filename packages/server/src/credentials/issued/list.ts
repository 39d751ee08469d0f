import type { Agent } from '../../platform/http/call.ts'
import { readPage, type PageQuery } from '../../platform/http/list-page.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { filterOf, presentCredential, type CredentialFilter, type IssuedCredential } from './rules.ts'
import { listIssued, listSessionsOfCredentials } from './store.ts'

/** The credentials of an agent, newest first. */
export const list = async (ctx: Ctx, agent: Agent, query: PageQuery & CredentialFilter) =>
  inTransaction(ctx, agent.agentId, async (tx) => {
    const { page, ...next } = await readPage<IssuedCredential>(
      ctx,
      { name: 'credentials', agent, query },
      { scan: (scan) => listIssued(tx, agent.mode, scan), isListed: filterOf(query) },
    )
    const ids = page.map(({ id }) => id)
    const sessions = await listSessionsOfCredentials(tx, agent.agentId, ids)
    return { credentials: page.map((row) => presentCredential(row, sessions.get(row.id))), ...next }
  })
