import { ApiResponse, type Agent } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { makeViewToken, type Session } from '../sessions/index.ts'

/** Adds the view token to the answer of a view. It is derived from the session, so it is not stored. */
export const withViewToken = <T extends { readonly kind: string }>(
  ctx: Pick<Ctx, 'secrets' | 'ids'>,
  agent: Agent,
  session: Pick<Session, 'sessionId' | 'at'>,
  answer: ApiResponse<T>,
) => {
  if (answer.body.kind !== 'view') return answer
  const vt = makeViewToken(ctx, {
    agentId: agent.agentId,
    mode: agent.mode,
    sessionId: session.sessionId,
    viewedAt: session.at,
  })
  return new ApiResponse({ ...answer.body, vt }, answer.options)
}
