import type { Agent } from '../platform/http/call.ts'
import { readPage, type PageQuery } from '../platform/http/list-page.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction } from '../platform/db/db.ts'
import { answerFilterOf, matchesFailedOnly, type RequestFilter } from './rules.ts'
import { listRequests, type ListedRequest } from './store.ts'

/** The requests of an agent, newest first. */
export const list = async (ctx: Ctx, agent: Agent, query: PageQuery & RequestFilter) => {
  const { requestId } = query
  const { page, ...next } = await inTransaction(ctx, agent.agentId, (tx) =>
    readPage<ListedRequest>(
      ctx,
      { name: 'requests', agent, query },
      {
        scan: (scan) => listRequests(tx, { ...scan, requestId, onlyFailed: matchesFailedOnly(query) }),
        isListed: answerFilterOf(query),
      },
    ),
  )
  return {
    requests: page.map(({ at, id: _id, ...request }) => ({ ...request, at: at.toISOString() })),
    ...next,
  }
}
