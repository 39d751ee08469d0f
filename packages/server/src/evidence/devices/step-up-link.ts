import { inTransaction, readNow } from '../../platform/db/db.ts'
import type { Agent } from '../../platform/http/call.ts'
import { stepUpUrl, type StepUpDeps } from './step-up-token.ts'

/** A link for a person whom the agent wants to step up before it asks for a credential. */
export const stepUpLink = (
  { ctx }: StepUpDeps,
  { agentId, mode }: Agent,
  { subjectRef }: { subjectRef: string },
) =>
  inTransaction(ctx, agentId, async (tx) => {
    const { url, expiresAt } = stepUpUrl(ctx, { agentId, mode, subjectRef }, await readNow(tx))
    return { url, expiresAt: expiresAt.toISOString() }
  })
