import { inTransaction } from '../../platform/db/db.ts'
import type { Agent } from '../../platform/http/call.ts'
import type { ApprovalsDeps } from '../deps.ts'
import { presentApproval } from '../present.ts'
import { noSuchApproval } from '../rules.ts'
import { findApproval, findApprovalOfAudience } from '../store.ts'

/** An approval for the agent that asked or for its audience. A known-bad request exists for neither. */
export const read = (deps: ApprovalsDeps, agent: Agent, approvalId: string) =>
  inTransaction(deps.ctx, 'system', async (tx) => {
    const { agentId, mode } = agent
    const found =
      (await findApproval(tx, { agentId, mode, approvalId })) ??
      (await findApprovalOfAudience(tx, { audience: agentId, mode, approvalId }))
    if (!found || found.knownBad !== null) throw noSuchApproval()
    return presentApproval(tx, deps, found)
  })
