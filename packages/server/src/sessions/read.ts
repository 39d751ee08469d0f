import type { Agent } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { findSession } from './store.ts'

/** A session of this agent with its result. */
export const read = async (ctx: Ctx, agent: Agent, sessionId: string) => {
  const session = await inTransaction(ctx, agent.agentId, (tx) =>
    findSession(tx, { agentId: agent.agentId, mode: agent.mode, sessionId }),
  )
  if (!session) throw new Refusal('not_found', { message: 'No such session.' })
  return {
    sessionId: session.sessionId,
    kind: session.kind,
    status: session.status,
    simulated: session.simulated,
    startedAt: session.at.toISOString(),
    endedAt: session.endedAt?.toISOString() ?? null,
    workflowId: session.workflowId,
    challenge: session.challenge,
    quality: session.quality,
    verified: session.verified,
    assurance: session.assurance,
    scoring: session.scoring,
    components: session.components,
    flags: [...session.flags],
    reasons: [...session.reasons],
    telemetry: session.telemetry,
    evidence: session.evidence.map((item) => ({ ...item })),
    counted: session.counted,
    credentialId: session.credentialId,
  }
}
