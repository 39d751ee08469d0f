import type { SessionRecord } from '@pohf/protocol'
import type { Agent } from '../platform/http/call.ts'
import { readPage, type PageQuery } from '../platform/http/list-page.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction } from '../platform/db/db.ts'
import { listSessions, type ListedSession } from './store.ts'

type Query = PageQuery & {
  readonly kind?: SessionRecord['kind'] | undefined
  readonly status?: SessionRecord['status'] | undefined
  readonly verified?: 'true' | 'false' | undefined
}

/** An index has the sessions of one kind in the order of time, so the newest of each kind are read. */
const kinds = ['view', 'work', 'task', 'presence', 'approval'] as const

const filterOf = ({ status, verified }: Query): ((session: ListedSession) => boolean) | undefined =>
  status === undefined && verified === undefined
    ? undefined
    : (session) =>
        (status === undefined || session.status === status) &&
        (verified === undefined || session.verified === (verified === 'true'))

const presentSession = (session: ListedSession): SessionRecord => ({
  sessionId: session.id,
  kind: session.kind,
  status: session.status,
  simulated: session.simulated,
  startedAt: session.at.toISOString(),
  endedAt: session.endedAt?.toISOString() ?? null,
  durationMs: session.endedAt ? Math.max(0, session.endedAt.getTime() - session.at.getTime()) : null,
  workflowId: session.workflowId,
  hostname: session.hostname,
  quality: session.quality,
  verified: session.verified,
  assurance: session.assurance,
  flags: [...session.flags],
  reasons: [...session.reasons],
  credentialId: session.credentialId,
})

/** The sessions of an agent, newest first. */
export const list = async (ctx: Ctx, agent: Agent, query: Query) => {
  const { page, ...next } = await inTransaction(ctx, agent.agentId, (tx) =>
    readPage<ListedSession>(
      ctx,
      { name: 'sessions', agent, query },
      {
        scan: (scan) =>
          listSessions(tx, {
            ...scan,
            mode: agent.mode,
            kinds: query.kind === undefined ? kinds : [query.kind],
          }),
        isListed: filterOf(query),
      },
    ),
  )
  return { sessions: page.map(presentSession), ...next }
}
